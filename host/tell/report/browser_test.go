package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"psafe/host/record"
	"psafe/internal/testscale"
)

// TestClicks goes through the page as people do.
func TestClicks(t *testing.T) {
	page, notes := Make(withImages(t, 960), Options{Inputs: 100})
	if len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
	b := open(t, page, 1280, 900)
	is(b, `document.querySelector('#count').textContent`, "960 records")
	is(b, `document.querySelectorAll('#table tbody tr').length`, 50)

	t.Run("sort", func(t *testing.T) {
		b := &browser{T: t, ctx: b.ctx}
		sort := func(name string) {
			b.Helper()
			b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`[...document.querySelectorAll('#table thead button')].find((x) => x.firstChild.textContent === %q).click()`, name)))
		}
		sorted := `document.querySelector('th[aria-sort]').textContent + document.querySelector('th[aria-sort]').getAttribute('aria-sort')`
		sort("p_lower")
		is(b, sorted, "p_lower▲ascending")
		if list := b.column("p_lower"); !ascending(list, 1) {
			t.Errorf("%q", list)
		}
		sort("p_lower")
		is(b, sorted, "p_lower▼descending")
		if list := b.column("p_lower"); !ascending(list, -1) || list[0] != "0.9999" {
			t.Errorf("%q", list)
		}
		sort("eps")
		if list := b.column("eps"); list[0] != "2/255" {
			t.Errorf("%q: a fraction has its place among decimals", list)
		}
		sort("input")
		if list := b.column("input"); list[0] != "0" || !ascending(list, 1) {
			t.Errorf("%q", list)
		}
		is(b, `document.querySelectorAll('th[aria-sort]').length`, 1)
		b.click("button[type=reset]")
		is(b, sorted, "# order of weakness▲ascending")
	})

	t.Run("filter", func(t *testing.T) {
		b := &browser{T: t, ctx: b.ctx}
		set := func(label, value string) {
			b.Helper()
			b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ const c = [...document.querySelectorAll('#filters label')].find((l) => l.firstChild.textContent === %q).querySelector('input, select');
				if (c.tagName === 'SELECT') c.value = [...c.options].find((o) => o.textContent === %q).value; else c.value = %q;
				c.dispatchEvent(new Event('input', { bubbles: true })); }`, label, value, value)))
		}
		only := func(name, want string) {
			b.Helper()
			list := b.column(name)
			for _, text := range list {
				if text != want {
					b.Errorf("%s is %q among those filtered for %q", name, text, want)
				}
			}
			if len(list) == 0 {
				b.Errorf("no row with %s %q", name, want)
			}
		}
		set("Verdict", "unsafe")
		is(b, `document.querySelectorAll('#table tbody tr:not(.unsafe)').length`, 0)
		only("verdict", "unsafe")
		set("Verdict", "all")
		set("Radius eps", "0.02")
		is(b, `document.querySelector('#count').textContent`, "240 of 960 records")
		only("eps", "0.02")
		set("Posterior", "posterior-1.npz")
		is(b, `document.querySelector('#count').textContent`, "80 of 960 records")
		set("p_lower from", "0.5")
		set("p_lower to", "0.9")
		is(b, `document.querySelectorAll('#table tbody tr').length < 50`, true)
		for _, text := range b.column("p_lower") {
			if text < "0.5" || text > "0.9" {
				t.Errorf("p_lower %s", text)
			}
		}
		b.click("button[type=reset]")
		is(b, `document.querySelector('#count').textContent`, "960 records")
		b.do(chromedp.SendKeys(chromedp.CSS("#filters input[type=search]"), "posterior-2"))
		is(b, `document.querySelector('#count').textContent`, "320 of 960 records")
		only("posterior", "posterior-2.npz")
		b.do(chromedp.SendKeys(chromedp.CSS("#filters input[type=search]"), "absent"))
		is(b, `document.querySelector('#count').textContent`, "0 of 960 records")
		b.click("button[type=reset]")
		is(b, `document.querySelector('#count').textContent`, "960 records")
	})

	t.Run("pages", func(t *testing.T) {
		b := &browser{T: t, ctx: b.ctx}
		where := `document.querySelector('.pager span').textContent`
		is(b, where, "page 1 of 20")
		b.click(`button[aria-label="Last page"]`)
		is(b, where, "page 20 of 20")
		is(b, `document.querySelectorAll('#table tbody tr').length`, 10)
		is(b, `document.querySelector('button[aria-label="Next page"]').disabled`, true)
		b.click(`button[aria-label="First page"]`)
		is(b, where, "page 1 of 20")
	})

	t.Run("keys", func(t *testing.T) {
		b := &browser{T: t, ctx: b.ctx}
		at := `document.activeElement.closest('tr')?.dataset.place ?? document.activeElement.tagName`
		b.do(chromedp.Focus(chromedp.CSS("#table tbody button")))
		b.press(kb.ArrowDown + kb.ArrowDown)
		is(b, at, "2")
		b.press(kb.End)
		is(b, at, "49")
		b.press(kb.ArrowDown)
		is(b, at, "50")
		b.press(kb.ArrowUp)
		is(b, at, "49")
		b.press(kb.PageDown)
		is(b, at, "99")
		b.press(kb.PageUp + kb.Home)
		is(b, at, "0")
		b.press(kb.ArrowDown + kb.Enter)
		is(b, `document.querySelector('dialog').open`, true)
		is(b, `document.activeElement.id`, "detail-title")
		b.press(kb.ArrowRight)
		first := get[string](b, `document.querySelector('#detail-title').textContent`)
		b.press(kb.ArrowRight + kb.ArrowLeft)
		is(b, `document.querySelector('#detail-title').textContent`, first)
		b.press(kb.Tab)
		is(b, `document.activeElement.id`, "previous")
		b.press(kb.Escape)
		is(b, `document.querySelector('dialog').open`, false)
		is(b, at, "2")
		// One row is in the tab order, and Tab goes on behind the table.
		is(b, `document.querySelectorAll('#table tbody button[tabindex="0"]').length`, 1)
	})

	t.Run("detail", func(t *testing.T) {
		b := &browser{T: t, ctx: b.ctx}
		b.do(chromedp.SendKeys(chromedp.CSS("#filters input[type=search]"), "posterior-0"))
		is(b, `document.querySelector('#count').textContent`, "320 of 960 records")
		b.click("#table tbody tr td:last-child")
		is(b, `document.querySelector('dialog').open`, true)
		d := decode(t, page)
		want := 0
		for d.cells("network")[want] != "posterior-0.npz" {
			want++
		}
		text := get[string](b, `document.querySelector('#detail-body').innerText`)
		for _, name := range []string{"p_lower", "p_upper", "seconds", "flags", "posterior_sha256", "guarantee"} {
			if cell := d.cells(name)[want]; !strings.Contains(text, cell) {
				t.Errorf("%s %q is not in %s", name, cell, text)
			}
		}
		if command := "psafe check results.jsonl --line " + d.cells("line")[want]; !strings.Contains(text, command) {
			t.Errorf("%q is not in %s", command, text)
		}
		is(b, `(() => { const c = document.querySelector('#detail canvas'); const k = document.createElement('canvas').getContext('2d', { willReadFrequently: true }); k.drawImage(c, 0, 0); const x = k.getImageData(0, 0, c.width, c.height).data; return c.width + ' ' + x[0] + ' ' + x[4] + ' ' + x[3]; })()`,
			fmt.Sprintf("7 %d %d 255", pixel(t, d.cells("index")[want], 0), pixel(t, d.cells("index")[want], 1)))
		is(b, `document.querySelector('#detail canvas').getAttribute('aria-label').startsWith('Image: ')`, true)
		b.click("#close")
		is(b, `document.querySelector('dialog').open`, false)
		b.click("button[type=reset]")
	})

	t.Run("names", func(t *testing.T) { (&browser{T: t, ctx: b.ctx}).names() })
	b.quiet()
}

// TestPhone: on a screen of 375 pixels nothing is wider, and everything works.
func TestPhone(t *testing.T) {
	records := withImages(t, 480)
	records[0].Posterior = strings.Repeat("a-very-long-name-of-a-posterior", 8) + ".npz"
	page, _ := Make(records, Options{Inputs: 100, Title: strings.Repeat("unbreakable", 10)})
	b := open(t, page, 375, 700)
	is(b, `document.documentElement.scrollWidth`, 375)
	// What a wide screen has columns for stands in each row.
	is(b, `[...document.querySelectorAll('#table tbody tr')].every((tr) => /posterior.* · (auto|c?lbp|ibp)$/.test(tr.querySelector('.small-only').innerText))`, true)
	b.click("#table tbody tr")
	is(b, `document.querySelector('dialog').open`, true)
	is(b, `document.querySelector('dialog').scrollWidth <= 375 && document.documentElement.scrollWidth <= 375`, true)
	b.click("#close")
	b.quiet()
}

// TestHostileBrowser: names that would be elements, scripts or handlers are text.
func TestHostileBrowser(t *testing.T) {
	page, _ := Make(hostileRecords(), Options{Title: hostile[1], Inputs: 10})
	b := open(t, page, 1280, 900)
	is(b, `document.title`, hostile[1])
	is(b, `document.querySelectorAll('script').length + document.querySelectorAll('img:not(.figure)').length`, 2)
	b.click("#table tbody tr")
	for range hostile {
		b.press(kb.ArrowRight)
	}
	is(b, `document.querySelectorAll('script').length + document.querySelectorAll('img:not(.figure)').length`, 2)
	b.click("#close")
	b.names()
	b.quiet()
}

// TestShorten: the script shortens texts of bounds to the safe side, as package report does.
func TestShorten(t *testing.T) {
	records := synthetic(700)
	for i, p := range []float64{0, 1, 0.5, 0.9999, 0.99995, 1e-4, 9.9e-5, 1e-300, 5e-324, 0.12345, 0.1, 1 - 1.0/(1<<53), 0.00010000000000000001} {
		records[i].PLower, records[i].PUpper = record.Down(p), record.Up(p)
	}
	page, _ := Make(records, Options{})
	b := open(t, page, 1280, 900)
	b.do(chromedp.Evaluate[chromedp.Void](`{ const s = document.querySelector('.pager select'); s.options[0].value = 1000; s.value = 1000; s.dispatchEvent(new Event('change')); }`))
	is(b, `document.querySelectorAll('#table tbody tr').length`, 700)
	d := decode(t, page)
	lower, upper := b.column("p_lower"), b.column("p_upper")
	lines := d.cells("line")
	for row := range lines {
		var n int
		fmt.Sscan(lines[row], &n)
		r := records[n-1]
		if want := record.FormatDown(r.PLower, 4); lower[row] != want {
			t.Errorf("p_lower %v is %s, want %s", float64(r.PLower), lower[row], want)
		}
		if want := record.FormatUp(r.PUpper, 4); upper[row] != want {
			t.Errorf("p_upper %v is %s, want %s", float64(r.PUpper), upper[row], want)
		}
	}
}

// TestManyRecords: 100,000 records stay usable.
func TestManyRecords(t *testing.T) {
	testscale.DeepOnly(t)
	records := withImages(t, 100_000)
	start := time.Now()
	page, _ := Make(records, Options{Inputs: 2000})
	t.Logf("made in %.1f s, %.1f MB", time.Since(start).Seconds(), float64(len(page))/1e6)
	if len(page) > 40e6 {
		t.Errorf("%d bytes", len(page))
	}
	start = time.Now()
	b := open(t, page, 1280, 900)
	t.Logf("browser started and page open after %.1f s", time.Since(start).Seconds())
	loaded := get[float64](b, `performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd`)
	t.Logf("loaded in %.0f ms", loaded)
	if loaded > 3000 {
		t.Errorf("loaded in %.0f ms", loaded)
	}
	// Each click is timed until it is drawn; filters wait 150 ms for more keys.
	drawn := `new Promise((done) => { const start = performance.now(); %s; setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start))), %d); })`
	for _, c := range []struct{ what, act string }{
		{"sort by p_lower", `[...document.querySelectorAll('#table thead button')].find((x) => x.firstChild.textContent === 'p_lower').click()`},
		{"sort by p_lower again", `[...document.querySelectorAll('#table thead button')].find((x) => x.firstChild.textContent === 'p_lower').click()`},
		{"sort by input", `[...document.querySelectorAll('#table thead button')].find((x) => x.firstChild.textContent === 'input').click()`},
		{"filter by verdict", `const c = document.querySelectorAll('#filters select')[0]; c.value = 'unknown'; c.dispatchEvent(new Event('input', { bubbles: true }))`},
		{"filter by text", `const c = document.querySelector('#filters input'); c.value = '17'; c.dispatchEvent(new Event('input', { bubbles: true }))`},
		{"a page on", `document.querySelector('button[aria-label="Next page"]').click()`},
		{"open a record", `document.querySelector('#table tbody button').click()`},
	} {
		wait := 0
		if strings.HasPrefix(c.what, "filter") {
			wait = 150
		}
		ms := get[float64](b, fmt.Sprintf(drawn, c.act, wait))
		t.Logf("%s: %.0f ms", c.what, ms)
		if ms > 650 {
			t.Errorf("%s took %.0f ms", c.what, ms)
		}
	}
	b.quiet()
}
