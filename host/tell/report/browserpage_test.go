package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"psafe/host/record"
)

// browser is a page that is open in a real browser without a window.
type browser struct {
	*testing.T
	ctx context.Context
	mu  sync.Mutex
	// said is what the page said on the console, and what it threw; asked are the addresses
	// that it asked for.
	said, asked []string
}

// open opens a page in Chromium, and skips the test where there is none.
func open(t *testing.T, page []byte, width, height int64) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Skip("no Chromium: the page is not opened, nothing is clicked (scripts/deps.sh deep installs it)")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, page, 0o666); err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); stop() })
	b := &browser{T: t, ctx: ctx}
	_, enable := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	if err := errors.Join(enable, chromedp.Listen(ctx, b.hear)); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, height), chromedp.Navigate("file://"+filepath.ToSlash(file)), chromedp.WaitVisible(chromedp.CSS("#table tbody tr")))
	return b
}

func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, fmt.Sprintf("console %s", e.Type))
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *log.EventEntryAdded:
		b.said = append(b.said, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// get evaluates an expression.
func get[T any](b *browser, expression string) T {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return value
}

// is waits until an expression is what it should be, since the page may draw later.
func is[T comparable](b *browser, expression string, want T) {
	b.Helper()
	var got T
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if got = get[T](b, expression); got == want {
			return
		}
		if time.Now().After(end) {
			b.Errorf("%s is %v, want %v", expression, got, want)
			return
		}
	}
}

func (b *browser) click(selector string) {
	b.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// press sends keys to what has the focus.
func (b *browser) press(keys string) {
	b.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// quiet is an error if the page said anything or asked for anything but itself.
func (b *browser) quiet() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.said {
		b.Errorf("the page said %q", text)
	}
	for i, url := range b.asked {
		if i == 0 && strings.HasPrefix(url, "file://") || strings.HasPrefix(url, "data:") {
			continue
		}
		b.Errorf("the page asked for %.200s", url)
	}
	if len(b.asked) == 0 {
		b.Error("nothing was listened to")
	}
}

// withImages are records of images that are there.
func withImages(t *testing.T, n int) []record.Placed {
	t.Helper()
	path := filepath.Join(t.TempDir(), "images.idx")
	digest := imagesOf(t, path, 200, 7)
	records := synthetic(n)
	for i := range records {
		records[i].Inputs, records[i].InputsSHA256 = path, digest
	}
	records[3].Statistical = &record.Statistical{Samples: 100, Safe: 90, Confidence: 0.99, Lower: 0.8, Upper: 0.97}
	return records
}

// column is what the rows in sight have in a column.
const column1 = `((name) => { const k = [...document.querySelectorAll('#table thead th')].findIndex((th) => (th.querySelector('button')?.firstChild ?? th.firstChild).textContent === name);
	return [...document.querySelectorAll('#table tbody tr')].map((tr) => (tr.cells[k].querySelector('button') ?? tr.cells[k]).textContent.replace(/^input /, '')); })`

func (b *browser) column(name string) []string {
	b.Helper()
	return get[[]string](b, column1+fmt.Sprintf("(%q)", name))
}

func ascending(numbers []string, sign float64) bool {
	last := -1e300
	for _, text := range numbers {
		var x float64
		if _, err := fmt.Sscan(text, &x); err != nil || sign*x < last {
			return false
		}
		last = sign * x
	}
	return true
}

// pixel is that of an image of imagesOf.
func pixel(t *testing.T, index string, k int) byte {
	var i int
	if _, err := fmt.Sscan(index, &i); err != nil {
		t.Fatal(err)
	}
	return byte(i*49 + k)
}

// names holds every control and picture of the accessibility tree to have a name, and the page
// to have its landmarks.
func (b *browser) names() {
	b.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		b.Fatal(err)
	}
	text := func(v *accessibility.Value) (s string) {
		if v != nil {
			_ = json.Unmarshal([]byte(v.Value), &s)
		}
		return s
	}
	count := map[string]int{}
	for _, n := range tree.Nodes {
		role, name := text(n.Role), strings.TrimSpace(text(n.Name))
		if n.Ignored {
			continue
		}
		count[role]++
		switch role {
		case "button", "combobox", "textbox", "searchbox", "spinbutton", "link", "image", "img", "table", "columnheader", "heading", "dialog", "option", "DisclosureTriangle", "figure", "region":
			if name == "" && role != "figure" {
				b.Errorf("a %s has no name", role)
			}
		}
	}
	for role, least := range map[string]int{"main": 1, "banner": 1, "contentinfo": 1, "search": 1, "status": 1, "table": 2, "columnheader": 8, "button": 20, "combobox": 2, "heading": 6, "region": 4} {
		if count[role] < least {
			b.Errorf("%d %s, want %d or more: %v", count[role], role, least, count)
		}
	}
}
