'use strict';
// The table of records: what is filtered and sorted are row numbers, and only one page of rows
// is in the document at a time. Texts of records are set as text, never as HTML. Numbers are
// the texts that Go wrote; where they are shortened, it is done on the text, to the safe side.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId('data').textContent);
  const rows = data.rows;

  // ---- columns of texts ----

  const opened = (c) => {
    if (c.words) return { name: c.name, words: c.words, at: c.at, get: c.at ? (i) => c.words[c.at[i]] : () => c.words[0] };
    let list = null; // split when it is first read
    const texts = () => (list ??= (c.texts ?? '').split('\n'));
    return { name: c.name, texts, get: (i) => texts()[i] };
  };
  const fields = data.columns.map(opened);
  const field = Object.fromEntries(fields.map((c) => [c.name, c]));
  const own = Object.fromEntries(data.own.map((c) => [c.name, opened(c)]));
  const says = (name, i) => field[name]?.get(i) ?? '';

  const several = (c) => c !== undefined && (c.texts !== undefined || c.words.length > 1);

  // keys are what a column is sorted by: numbers, for words their places in the alphabet.
  const numbers = (c) => {
    const keys = new Float64Array(rows);
    const number = (t) => (t === '' ? NaN : Number(t));
    if (c.words) {
      const of = c.words.map(number);
      for (let i = 0; i < rows; i++) keys[i] = of[c.at ? c.at[i] : 0];
    } else {
      const texts = c.texts();
      for (let i = 0; i < rows; i++) keys[i] = number(texts[i]);
    }
    return keys;
  };
  const places = (c) => {
    const words = c.words ?? [...new Set(c.texts())];
    const order = new Intl.Collator('en', { numeric: true }).compare;
    const place = new Map([...words].sort(order).map((w, k) => [w, w === '' ? NaN : k]));
    return Float64Array.from({ length: rows }, (_, i) => place.get(c.get(i)));
  };
  const radius = (text) => {
    const [over, under, more] = text.split('/');
    return text === '' || more !== undefined ? NaN : Number(over) / (under === undefined ? 1 : Number(under));
  };

  // ---- numbers, shortened to the safe side ----

  const digits = 4;
  const shorten = (text, up) => {
    if (text === '') return '';
    if (/e/i.test(text)) { // below 1e-4 in records
      const value = Number(text);
      return value < 1e-4 && value >= 0 ? (up ? '0.0001' : '0.0000') : text;
    }
    const [whole, part = ''] = text.split('.');
    const kept = (part + '0000').slice(0, digits);
    const more = /[1-9]/.test(part.slice(digits));
    const units = BigInt(whole + kept) + (up && more ? 1n : 0n);
    const padded = units.toString().padStart(digits + 1, '0');
    return padded.slice(0, -digits) + '.' + padded.slice(-digits);
  };
  const thousands = (n) => n.toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');

  // ---- small elements ----

  const make = (tag, attributes = {}, ...children) => {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === 'class') e.className = value;
      else if (name === 'on') for (const [type, f] of Object.entries(value)) e.addEventListener(type, f);
      else e.setAttribute(name, value);
    }
    e.append(...children);
    return e;
  };
  const verdicts = ['safe', 'unsafe', 'unknown'];
  const verdictOf = (i) => (verdicts.includes(says('verdict', i)) ? says('verdict', i) : 'unknown');
  const chip = (i) => {
    const v = verdictOf(i);
    return make('span', { class: 'chip ' + v }, make('span', { class: 'glyph', 'aria-hidden': 'true' }), v);
  };
  const band = (lower, upper, kind = '') => {
    if (Number(lower) === 0 && Number(upper) === 1 && !kind) kind = 'nothing'; // is proved
    const b = make('div', { class: 'band ' + kind });
    const left = Math.min(Number(lower), 0.995);
    b.style.left = 100 * left + '%';
    b.style.width = 100 * Math.max(0, Number(upper) - left) + '%';
    return make('div', { class: 'track', 'aria-hidden': 'true' }, b);
  };
  const claims = (i) => says('method', i) !== 'statistical';
  const nameOf = (i) => {
    const entry = says('template_entry', i) === '' ? '' : ' ' + says('property', i);
    return says('name', i) || says('index', i) + entry;
  };

  // ---- pictures ----

  const sheets = data.sets.map((s) => {
    if (s.kind !== 'image') return null;
    const image = new Image();
    image.src = s.picture;
    return { image, ready: image.decode().catch(() => {}) };
  });
  const setOf = (i) => (own.set.get(i) === '' ? null : data.sets[Number(own.set.get(i))]);
  const pictureOf = (i) => (own.picture.get(i) === '' ? -1 : Number(own.picture.get(i)));

  // canvas draws the image of a row, null if it has none.
  const canvas = (i, kind) => {
    const s = setOf(i), k = pictureOf(i);
    if (!s || k < 0 || s.kind !== 'image') return null;
    const c = make('canvas', { class: kind, width: s.width, height: s.height });
    const { image, ready } = sheets[Number(own.set.get(i))];
    const paint = () => c.getContext('2d').drawImage(image, (k % s.across) * s.width, Math.floor(k / s.across) * s.height, s.width, s.height, 0, 0, s.width, s.height);
    if (image.complete && image.naturalWidth > 0) paint(); else ready.then(paint);
    return c;
  };

  // ---- the table's columns ----

  // What tells the records of one input apart, for screens without room for its columns.
  const apart = [own.kind, own.network, own.asked].filter(several);
  const open = (i, k) => {
    const b = make('button', { type: 'button', tabindex: k === 0 ? '0' : '-1' }, nameOf(i));
    if (!says('name', i)) b.prepend(make('span', { class: 'quiet' }, 'input '));
    const contradicted = own.contradicted.get(i) !== '';
    if (contradicted) b.append(make('span', { class: 'quiet' }, ', contradicted'));
    const cell = make('div', { class: 'input' });
    const image = canvas(i, 'thumb');
    if (image) { image.setAttribute('aria-hidden', 'true'); cell.append(image); }
    const words = apart.map((c) => c.get(i)).join(' · ');
    cell.append(words ? make('div', {}, b, make('div', { class: 'small-only' }, words)) : b);
    return cell;
  };
  const plain = (c) => (i) => c.get(i);
  const columns = [
    { name: '#', label: 'order of weakness', cell: (i) => thousands(i + 1), keys: () => Float64Array.from({ length: rows }, (_, i) => i), n: true, off: true },
    { name: 'input', cell: open, head: true, keys: () => {
      const index = field.index ? numbers(field.index) : new Float64Array(rows), set = numbers(own.set);
      return index.map((x, i) => x + 2 ** 31 * (set[i] || 0));
    } },
    { name: 'verdict', cell: chip, keys: () => places(field.verdict) },
    { name: 'data', cell: (i) => setOf(i)?.name ?? '', keys: () => numbers(own.set), off: true, wide: true, there: data.sets.length > 1 },
    { name: 'label', cell: (i) => says('label', i), keys: () => numbers(field.label), n: true, off: true, there: several(field.label) },
    { name: 'property', cell: plain(own.kind), keys: () => places(own.kind), off: true, wide: true, there: several(own.kind) },
    { name: 'eps', cell: (i) => says('eps', i), keys: () => Float64Array.from({ length: rows }, (_, i) => radius(says('eps', i))), n: true, wide: true, there: several(field.eps) },
    { name: 'posterior', cell: plain(own.network), keys: () => places(own.network), off: true, wide: true, there: several(own.network) },
    { name: 'method', cell: (i) => (own.asked.get(i) === says('method', i) ? says('method', i) : own.asked.get(i) + ' (' + says('method', i) + ')'),
      keys: () => places(own.asked), off: true, wide: true, there: several(own.asked) || several(field.method) },
    { name: 'p_lower', cell: (i) => (claims(i) ? shorten(says('p_lower', i), false) : '–'), keys: () => lower(), n: true },
    { name: 'p_upper', cell: (i) => shorten(says('p_upper', i), true), keys: () => numbers(field.p_upper), n: true },
    { name: 'each_lower', cell: (i) => (says('each_lower', i) ? shorten(says('each_lower', i), false) : '–'), keys: () => numbers(field.each_lower), n: true, off: true, there: field.each_lower !== undefined },
    { name: 'decision', cell: (i) => says('decision.verdict', i).replace('decision_', '') || '–', keys: () => places(field['decision.verdict']), off: true, there: field['decision.verdict'] !== undefined },
    { name: 'bounds', cell: (i) => band(says('p_lower', i), says('p_upper', i)) },
  ].filter((c) => c.there !== false);
  let lowerKeys = null;
  const lower = () => (lowerKeys ??= numbers(field.p_lower));

  // ---- filters ----

  const form = byId('filters');
  const labelled = (words, control, kind = '') => { form.append(make('label', { class: kind }, words, control)); return control; };
  const choice = (words, options) => {
    const list = [['', 'all'], ...options].map(([value, text]) => { const o = make('option', {}, text); o.value = value; return o; });
    return labelled(words, make('select', {}, ...list), 'half');
  };
  const byWords = (words, c) => (several(c) && c.words ? choice(words, [...c.words].map((w, k) => [String(k), w || '(none)']).sort((a, b) => a[1].localeCompare(b[1], 'en', { numeric: true }))) : null);

  const text = labelled('Text', make('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', placeholder: 'name, number, file, …' }));
  const contradicted = several(own.contradicted) || own.contradicted.get(0) !== '';
  const verdict = choice('Verdict', [...verdicts.map((v) => [v, v]), ...(contradicted ? [['contradicted', 'contradicted']] : [])]);
  const chosen = [['Posterior', own.network], ['Property', several(own.kind) && own.kind.words?.length <= 100 ? own.kind : undefined], ['Method asked for', own.asked], ['Radius eps', field.eps], ['Data', own.set.words && data.sets.length > 1 ? { ...own.set, words: own.set.words } : undefined]]
    .map(([words, c]) => ({ c, select: words === 'Data' && c ? choice(words, c.words.map((w, k) => [String(k), w === '' ? '(none)' : data.sets[Number(w)].name])) : byWords(words, c) }))
    .filter((f) => f.select);
  const from = labelled('p_lower from', make('input', { type: 'number', min: '0', max: '1', step: 'any', inputmode: 'decimal', placeholder: '0' }), 'half');
  const to = labelled('p_lower to', make('input', { type: 'number', min: '0', max: '1', step: 'any', inputmode: 'decimal', placeholder: '1' }), 'half');
  form.append(make('button', { type: 'reset' }, 'Show all'));

  // matches says for each row whether a text stands in what one looks for.
  const searched = [field.name, field.index, field.label, field.property, field.eps, own.network, own.asked, field.method, field.verdict, own.file, field.inputs, field.device, field.posterior].filter(Boolean);
  const matches = (wanted) => {
    const hit = new Uint8Array(rows);
    for (const c of searched) {
      if (c.words) {
        const of = c.words.map((w) => w.toLowerCase().includes(wanted));
        if (!of.includes(true)) continue;
        for (let i = 0; i < rows; i++) if (of[c.at ? c.at[i] : 0]) hit[i] = 1;
        continue;
      }
      const texts = c.texts();
      for (let i = 0; i < rows; i++) if (!hit[i] && texts[i].toLowerCase().includes(wanted)) hit[i] = 1;
    }
    return hit;
  };

  const filtered = () => {
    const wanted = text.value.trim().toLowerCase();
    const hit = wanted ? matches(wanted) : null;
    const least = from.value === '' ? -Infinity : Number(from.value), most = to.value === '' ? Infinity : Number(to.value);
    const keys = least > -Infinity || most < Infinity ? lower() : null;
    const picked = chosen.filter((f) => f.select.value !== '').map((f) => [f.c, Number(f.select.value)]);
    const list = new Uint32Array(rows);
    let n = 0;
    for (let i = 0; i < rows; i++) {
      if (hit && !hit[i]) continue;
      if (verdict.value === 'contradicted' ? own.contradicted.get(i) === '' : verdict.value && verdictOf(i) !== verdict.value) continue;
      if (keys && !(keys[i] >= least && keys[i] <= most)) continue;
      if (picked.some(([c, k]) => (c.at ? c.at[i] : 0) !== k)) continue;
      list[n++] = i;
    }
    return list.subarray(0, n);
  };

  // ---- sorting and pages ----

  let sort = columns[0], down = false, page = 0, size = 50, shown = new Uint32Array(0), current = 0;
  const pages = () => Math.max(1, Math.ceil(shown.length / size));

  const update = () => {
    shown = filtered();
    if (sort !== columns[0] || down) {
      const keys = (sort.sortKeys ??= sort.keys()), sign = down ? -1 : 1;
      // Rows that say nothing come last; ties are in the order of weakness.
      shown = shown.sort((a, b) => {
        const x = keys[a], y = keys[b];
        if (x === y) return a - b;
        if (x !== x || y !== y) return x !== x && y !== y ? a - b : x !== x ? 1 : -1;
        return x < y ? -sign : sign;
      });
    }
    page = 0;
    render();
  };

  const head = byId('table').tHead.rows[0], body = byId('table').tBodies[0];
  for (const c of columns) {
    c.th = make('th', { scope: 'col', class: [c.n ? 'n' : '', c.off ? 'small-off' : ''].join(' ').trim() });
    if (c.keys) {
      c.arrow = make('span', { class: 'arrow', 'aria-hidden': 'true' });
      c.th.append(make('button', { type: 'button', on: { click: () => {
        down = sort === c ? !down : false;
        sort = c;
        update();
      } } }, c.name, ...(c.label ? [make('span', { class: 'quiet' }, ' ' + c.label)] : []), c.arrow));
    } else c.th.append(c.name);
    head.append(c.th);
  }

  const pager = document.querySelector('.pager');
  const turn = (words, label, to) => {
    const b = make('button', { type: 'button', 'aria-label': label, on: { click: () => { page = to(); render(); } } }, words);
    pager.append(b);
    return b;
  };
  const first = turn('«', 'First page', () => 0), before = turn('‹', 'Previous page', () => page - 1);
  const where = make('span');
  pager.append(where);
  const after = turn('›', 'Next page', () => page + 1), last = turn('»', 'Last page', () => pages() - 1);
  const sizes = make('select', { 'aria-label': 'Rows on a page', on: { change: () => { size = Number(sizes.value); page = 0; render(); } } },
    ...[25, 50, 100, 250].map((n) => { const o = make('option', {}, n + ' rows'); o.value = n; o.selected = n === size; return o; }));
  pager.append(sizes);

  const openers = () => body.querySelectorAll('.input button');
  const render = () => {
    page = Math.max(0, Math.min(page, pages() - 1));
    const start = page * size, part = shown.subarray(start, start + size);
    body.replaceChildren(...Array.from(part, (i, k) => {
      const tr = make('tr', { class: verdictOf(i) + (own.contradicted.get(i) ? ' contradicted' : ''), 'data-place': start + k });
      for (const c of columns) {
        const cell = make(c.head ? 'th' : 'td', { class: [c.n ? 'n' : '', c.off ? 'small-off' : '', c.wide ? 'wide' : ''].join(' ').trim() }, c.cell(i, k));
        if (c.head) cell.setAttribute('scope', 'row');
        if (c.wide) cell.title = cell.textContent;
        tr.append(cell);
      }
      return tr;
    }));
    for (const c of columns) {
      if (!c.keys) continue;
      c.arrow.textContent = c === sort ? (down ? '▼' : '▲') : '';
      if (c === sort) c.th.setAttribute('aria-sort', down ? 'descending' : 'ascending'); else c.th.removeAttribute('aria-sort');
    }
    first.disabled = before.disabled = page === 0;
    after.disabled = last.disabled = page === pages() - 1;
    where.textContent = 'page ' + thousands(page + 1) + ' of ' + thousands(pages());
    byId('count').textContent = shown.length === rows ? thousands(rows) + (rows === 1 ? ' record' : ' records') : thousands(shown.length) + ' of ' + thousands(rows) + ' records';
  };

  let timer = 0;
  form.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(update, rows > 20000 ? 150 : 0); });
  form.addEventListener('reset', () => { clearTimeout(timer); timer = setTimeout(() => { sort = columns[0]; down = false; update(); }); });
  form.addEventListener('submit', (e) => e.preventDefault());

  // ---- keys in the table ----

  const go = (k) => {
    const list = openers();
    if (list.length === 0) return;
    k = Math.max(0, Math.min(k, list.length - 1));
    list.forEach((b, n) => { b.tabIndex = n === k ? 0 : -1; });
    list[k].focus();
  };
  body.addEventListener('keydown', (e) => {
    const list = [...openers()], k = list.indexOf(document.activeElement);
    if (k < 0 || e.altKey || e.ctrlKey || e.metaKey) return;
    const turned = (to, row) => { if (to < 0 || to >= pages()) return go(row); page = to; render(); go(row); };
    const act = {
      ArrowDown: () => (k + 1 < list.length ? go(k + 1) : page + 1 < pages() && turned(page + 1, 0)),
      ArrowUp: () => (k > 0 ? go(k - 1) : page > 0 && turned(page - 1, size - 1)),
      Home: () => go(0), End: () => go(list.length - 1),
      PageDown: () => turned(page + 1, k), PageUp: () => turned(page - 1, k),
    }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  body.addEventListener('click', (e) => {
    const tr = e.target.closest('tr');
    if (tr && !String(getSelection())) show(Number(tr.dataset.place));
  });

  // ---- one record ----

  const detail = byId('detail'), inside = byId('detail-body'), title = byId('detail-title');
  const bounds = (i) => {
    const list = [];
    const p = says('p_lower', i), u = says('p_upper', i);
    const sentence = claims(i) ? ['Proved: ', make('b', {}, p), ' ≤ P_safe ≤ ', make('b', {}, u)] : ['Proved: P_safe ≤ ', make('b', {}, u)];
    list.push(make('p', { class: 'say' }, ...sentence, ' '));
    const log = says('log10_p_lower', i);
    if (Number(p) < 1e-4 && log !== '') list.push(make('p', { class: 'note' }, Number(log) < -300 ? 'What is proved is less than 10^-300' : 'log10 of P_safe is at least ' + log));
    const scale = make('div', { class: 'scale ' + verdictOf(i) }, band(p, u), make('div', { class: 'ends', 'aria-hidden': 'true' }, make('span', {}, '0'), make('span', {}, '1')),
      make('p', { class: 'caption' }, (p === '0' && u === '1' ? 'Nothing is proved about P_safe here.' : 'Certified: P_safe lies in the filled part.') + ' Required for safe: ' + says('require', i) + '.'));
    if (says('statistical.lower', i) !== '') {
      const lo = says('statistical.lower', i), hi = says('statistical.upper', i);
      scale.append(band(lo, hi, 'drawn'), make('p', { class: 'caption' },
        'Not certified: from ' + says('statistical.samples', i) + ' drawn networks, ' + lo + ' to ' + hi + ' with confidence ' + says('statistical.confidence', i) + '.'));
    }
    if (says('parent.lower', i) !== '') {
      const lo = says('parent.lower', i), hi = says('parent.upper', i);
      scale.append(band(lo, hi, 'drawn'), make('p', { class: 'caption' },
        'Not certified: for the posterior that the networks were drawn from (' + says('parent.of', i) + '), ' + lo + ' to ' + hi + ' with confidence ' + says('parent.confidence', i) + '.'));
    }
    if (says('networks', i) !== '') scale.append(make('p', { class: 'caption' }, 'P_safe is a share of the ' + says('networks', i) + ' networks of the file, and speaks of no others.'));
    list.push(scale);
    return list;
  };
  const input = (i) => {
    const s = setOf(i), k = pictureOf(i);
    if (!s) return [];
    if (k < 0) return [make('p', { class: 'note' }, s.note || 'This input is not drawn: the page draws only so many, the weakest first.')];
    const image = canvas(i, 'big');
    if (image) {
      image.setAttribute('role', 'img');
      image.setAttribute('aria-label', 'Image: ' + nameOf(i) + ' of ' + s.name);
      return [image, make('p', { class: 'note' }, s.range + (s.shrunk > 1 ? '; drawn with one pixel for ' + s.shrunk + ' by ' + s.shrunk : '') + '.')];
    }
    if (s.kind === 'boxes') return [make('h3', {}, 'Boxes of T'), make('ul', { class: 'note' }, ...s.values[k].map((b) => make('li', {}, b)))];
    const line = (v, j) => make('tr', {}, make('th', { scope: 'row', class: 'n' }, String(j)), make('td', { class: 'n' }, v));
    const more = s.dim > s.values[k].length ? [make('p', { class: 'note' }, 'and ' + (s.dim - s.values[k].length) + ' more')] : [];
    return [make('h3', {}, 'Coordinates of the point'), make('table', { class: 'values', 'aria-label': 'Coordinates' }, make('thead', {}, make('tr', {}, make('th', { scope: 'col', class: 'n' }, 'coordinate'), make('th', { scope: 'col', class: 'n' }, 'value'))),
      make('tbody', {}, ...s.values[k].map(line))), ...more];
  };
  const again = (i) => {
    const file = own.shell.get(i);
    if (!file) return [make('p', { class: 'note' }, 'Line ' + own.line.get(i) + ' of ' + own.file.get(i) + '.')];
    return [make('pre', {}, make('code', {}, 'psafe check ' + file + ' --line ' + own.line.get(i))),
      make('p', { class: 'note' }, 'Without --line it proves all records of the file.')];
  };
  const show = (place) => {
    current = Math.max(0, Math.min(place, shown.length - 1));
    const i = shown[current];
    title.replaceChildren((says('name', i) ? '' : 'Input ') + nameOf(i) + ' ', chip(i));
    const parts = [];
    const why = own.contradicted.get(i);
    if (why) parts.push(make('p', { class: 'alert' }, why));
    parts.push(...input(i), ...bounds(i), make('h3', {}, 'Prove it again'), ...again(i), make('h3', {}, 'All that the record says'));
    const list = make('dl');
    for (const c of [own.file, own.line, ...fields]) {
      const value = c.get(i);
      if (value !== '' && value !== undefined) list.append(make('div', {}, make('dt', {}, c.name), make('dd', {}, value)));
    }
    parts.push(list, make('p', { class: 'note' }, 'The record has its proof beside this, for psafe check.'));
    inside.replaceChildren(...parts);
    byId('previous').disabled = current === 0;
    byId('next').disabled = current === shown.length - 1;
    if (!detail.open) detail.showModal();
    detail.scrollTop = 0;
    title.focus();
  };
  byId('previous').addEventListener('click', () => show(current - 1));
  byId('next').addEventListener('click', () => show(current + 1));
  byId('close').addEventListener('click', () => detail.close());
  detail.addEventListener('click', (e) => { if (e.target === detail) detail.close(); });
  detail.addEventListener('keydown', (e) => {
    if (e.key === 'ArrowRight' && current + 1 < shown.length) show(current + 1);
    if (e.key === 'ArrowLeft' && current > 0) show(current - 1);
  });
  // Who closes a record goes on at its row, on whichever page that is by then.
  detail.addEventListener('close', () => {
    const at = Math.floor(current / size);
    if (at !== page) { page = at; render(); }
    go(current - page * size);
  });

  form.hidden = byId('results').hidden = false;
  update();
})();
