#pragma once

/// The parts of a timeline's page that no run changes: its style and its script. Everything about a run stands in the
/// data that timeline_html.hpp puts between them.
namespace nki::inline v0_1::emit::detail {

inline constexpr const char* page_style = R"css(
:root { color-scheme: light dark; --bg: #ffffff; --fg: #1f2328; --muted: #59636e; --band: #f3f4f6; --line: #d5d9de;
  --card: #ffffff; --accent: #0072B2; --shadow: 0 4px 16px rgba(31, 35, 40, .18); }
@media screen and (prefers-color-scheme: dark) { :root { --bg: #14171a; --fg: #e6e9ec; --muted: #9aa4ae;
  --band: #1e2327; --line: #39414a; --card: #1b1f23; --accent: #56B4E9; --shadow: 0 4px 16px rgba(0, 0, 0, .6); } }
* { box-sizing: border-box; }
body { margin: 0; padding: 20px 28px 48px; background: var(--bg); color: var(--fg);
  font: 14px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
header { display: flex; gap: 24px; justify-content: space-between; align-items: flex-start; flex-wrap: wrap; }
h1 { font-size: 22px; margin: 0; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 28px 0 8px; }
p { margin: 4px 0; }
.muted { color: var(--muted); overflow-wrap: anywhere; }
.body { margin-left: auto; font-size: 28px; font-weight: 600; line-height: 1.1; text-align: right;
  white-space: nowrap; }
.body small { display: block; font-size: 12px; font-weight: 400; color: var(--muted); margin-top: 4px; }
.note { border-left: 4px solid #E69F00; padding: 2px 10px; margin: 10px 0; background: var(--band); }
.facts { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 12px 0; padding: 0; list-style: none; }
.facts b { font-size: 16px; font-variant-numeric: tabular-nums; }
.facts span { display: block; color: var(--muted); font-size: 12px; }
.bar { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; margin: 12px 0 8px; }
.bar button, .link { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; padding: 2px 10px; cursor: pointer; }
.bar button:hover, .link:hover { border-color: var(--accent); }
.bar input[type=search] { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; padding: 2px 8px; width: 15em; }
.bar .hint { color: var(--muted); margin-left: auto; font-size: 12.5px; }
.link { border: 0; background: none; padding: 0; color: var(--accent); text-decoration: underline; text-align: left; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.chart { position: relative; border: 1px solid var(--line); border-radius: 8px; overflow: hidden;
  background: var(--card); }
.chart canvas { display: block; width: 100%; touch-action: pan-y; }
#map { border-bottom: 1px solid var(--line); cursor: ew-resize; }
#view { cursor: crosshair; }
#view.drag { cursor: grabbing; }
#view:focus-visible { outline-offset: -2px; }
#tip { position: absolute; left: 0; top: 0; max-width: 430px; pointer-events: none; background: var(--card);
  color: var(--fg); border: 1px solid var(--line); border-radius: 8px; box-shadow: var(--shadow); padding: 8px 12px;
  font-size: 13px; visibility: hidden; z-index: 2; }
#pin { border: 1px solid var(--line); border-radius: 8px; margin-top: 8px; padding: 10px 14px; min-height: 46px; }
#say { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.about h3 { font-size: 14px; margin: 0 0 2px; }
.about dl { display: grid; grid-template-columns: max-content 1fr; gap: 1px 12px; margin: 4px 0 0; }
.about dt { color: var(--muted); }
.about dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
code, .source { font: 12px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
.source { display: block; background: var(--band); border-radius: 4px; padding: 2px 6px; margin-top: 4px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 0; margin: 10px 0; list-style: none;
  font-size: 13px; }
.legend li { display: flex; align-items: center; gap: 6px; }
.legend svg { flex: none; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--muted); padding-bottom: 4px; }
th, td { text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; white-space: nowrap; }
td.n, th.n { text-align: right; white-space: nowrap; }
td.w { max-width: 46em; overflow-wrap: anywhere; }
.share { display: inline-block; min-width: 3.6em; }
td.s { white-space: nowrap; }
.meter { display: inline-block; width: 90px; height: 8px; border: 1px solid var(--muted); border-radius: 2px;
  margin-left: 8px; }
.meter i { display: block; height: 100%; background: var(--accent); }
details { margin: 10px 0; }
summary { cursor: pointer; font-weight: 600; }
kbd { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; border: 1px solid var(--line); border-radius: 4px;
  padding: 0 4px; }
.window { border-left: 4px solid var(--accent); padding: 2px 10px; margin: 8px 0; background: var(--band); }
@media print { body { padding: 0; font-size: 11px; }
  .bar, #tip, #map, .keys, #pin:has(> .muted) { display: none !important; }
  table { font-size: 10px; } .chart { break-inside: avoid; } tr { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)css";

inline constexpr const char* page_script = R"js(
(() => {
'use strict';
const D = JSON.parse(document.getElementById('nki-data').textContent);
const $ = id => document.getElementById(id);
const N = D.t.length, S = D.strings, QUEUE = 5;

// ---- data: columns, times as differences
const t0 = new Float64Array(N), t1 = new Float64Array(N), issued = new Float64Array(N);
const row = new Uint8Array(N), lane = new Uint8Array(N), trigger = new Int32Array(N).fill(-1);
for (let i = 0, t = 0, q = 0; i < N; ++i) {
  t += D.t[i];
  t0[i] = t; t1[i] = t + D.d[i]; issued[i] = t - D.i[i];
  row[i] = D.row.charCodeAt(i) - 48; lane[i] = D.lane.charCodeAt(i) - 48;
  if (row[i] >= QUEUE) trigger[i] = D.trigger[q++];
}
const W = D.waits.length / 5, waitOf = new Int32Array(N + 1);
const wCause = new Uint8Array(W), wFrom = new Float64Array(W), wUntil = new Float64Array(W);
const wProducer = new Int32Array(W);
for (let w = 0, b = 0, seen = 0; w < W; ++w) {
  const [step, cause, before, lost, producer] = D.waits.slice(5 * w, 5 * w + 5);
  b += step;
  while (seen <= b) waitOf[seen++] = w;
  wCause[w] = cause; wUntil[w] = t0[b] - before; wFrom[w] = wUntil[w] - lost; wProducer[w] = producer;
  if (w === W - 1) while (seen <= N) waitOf[seen++] = W;
}
if (W === 0) waitOf.fill(0);
const wBar = new Int32Array(W);
for (let i = 0; i < N; ++i) for (let w = waitOf[i]; w < waitOf[i + 1]; ++w) wBar[w] = i;
// Who waits for a bar: lists, one behind the other.
const heirsAt = new Int32Array(N + 2), heirs = [];
{
  const edges = [];
  for (let w = 0; w < W; ++w) if (wProducer[w] >= 0) edges.push([wProducer[w], wBar[w]]);
  for (let i = 0; i < N; ++i) if (trigger[i] >= 0) edges.push([trigger[i], i]);
  edges.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let e = 0;
  for (let i = 0; i <= N; ++i) {
    heirsAt[i] = heirs.length;
    while (e < edges.length && edges[e][0] === i) heirs.push(edges[e++][1]);
  }
  heirsAt[N + 1] = heirs.length;
}
const site = i => D.sites[D.site[i]];
const op = i => S[site(i)[0]] + (look(i) === D.triggerLook ? ' (trigger)' : '');
const look = i => row[i] < QUEUE && site(i)[1] >= D.loadLook && site(i)[1] <= D.copyLook ? D.triggerLook : site(i)[1];
const loops = i => {
  const names = D.loops[site(i)[7]], at = D.at[i];
  return at ? names.map((n, k) => S[n] + ' = ' + at[k]).join(', ') : '';
};

// ---- words
const fixed = (x, digits) => x.toLocaleString('en', {minimumFractionDigits: digits, maximumFractionDigits: digits});
const us = t => fixed(t / D.tpn / 1000, 3);
const time = t => us(t) + '\u00a0\u00b5s';
const span = t => t < 1000 * D.tpn ? (t / D.tpn).toFixed(t < 100 * D.tpn ? 1 : 0) + '\u00a0ns' : time(t);
const brief = i => op(i) + (S[site(i)[6]] ? ' ' + S[site(i)[6]] : '');
const lost = w => wUntil[w] > wFrom[w];
const waitText = w => lost(w) ? span(wUntil[w] - wFrom[w]) + ' for ' + D.causes[wCause[w]]
  : D.causes[wCause[w]] + ', there in time';
const producerText = p => p >= 0 ? brief(p) + ' in ' + D.rows[row[p]] + ', until ' + time(t1[p])
  : p <= -2 ? S[D.sites[-2 - p][0]] + ' ' + S[D.sites[-2 - p][5]] + ', outside of what is shown' : '';
const sentence = i => {
  const parts = [D.rows[row[i]] + ': ' + op(i) + ' ' + S[site(i)[5]],
                 'starts at ' + time(t0[i]) + ', lasts ' + span(t1[i] - t0[i])];
  for (let w = waitOf[i]; w < waitOf[i + 1]; ++w)
    parts.push((lost(w) ? 'waited ' : 'needs ') + waitText(w) +
               (wProducer[w] === -1 ? '' : ', ' + producerText(wProducer[w])));
  if (loops(i)) parts.push(loops(i));
  if (S[site(i)[2]]) parts.push(S[site(i)[2]]);
  return parts.join('. ') + '.';
};

const make = (tag, props, ...children) => {
  const e = Object.assign(document.createElement(tag), props || {});
  e.append(...children.filter(c => c !== null && c !== ''));
  return e;
};
const quiet = text => make('span', {className: 'muted', textContent: text});
const link = (text, onclick) => make('button', {className: 'link', type: 'button', textContent: text, onclick});
/// Everything about a bar; in the pinned panel producers and heirs are buttons.
function about(i, pinned) {
  const s = site(i), dl = make('dl');
  const line = (name, ...value) => dl.append(make('dt', {textContent: name}), make('dd', {}, ...value));
  const jump = (p, text) => pinned && p >= 0 ? link(text, () => pin(p, true)) : text;
  for (const [role, name, what] of D.operands[D.ops[i]])
    line(S[role], make('b', {textContent: S[name]}), ' ', quiet(S[what]));
  line('time', time(t0[i]) + ' to ' + time(t1[i]) + ', ' + span(t1[i] - t0[i]));
  if (row[i] >= QUEUE && issued[i] < t0[i])
    line('before', span(t0[i] - issued[i]) + ' from the trigger to the first packet');
  for (let w = waitOf[i]; w < waitOf[i + 1]; ++w)
    line(lost(w) ? 'waited' : 'needs', waitText(w),
         ...(wProducer[w] === -1 ? [] : [': ', jump(wProducer[w], producerText(wProducer[w]))]));
  if (trigger[i] >= 0) line('triggered by', jump(trigger[i], producerText(trigger[i])));
  const next = heirs.slice(heirsAt[i], heirsAt[i + 1]);
  if (next.length && pinned) {
    const dd = [];
    for (const h of next.slice(0, 6)) dd.push(dd.length ? '; ' : '', jump(h, brief(h) + ' at ' + time(t0[h])));
    if (next.length > 6) dd.push('; and ' + (next.length - 6) + ' more');
    line('needed by', ...dd);
  } else if (next.length) {
    line('needed by', next.length === 1 ? brief(next[0]) + ' at ' + time(t0[next[0]]) : next.length + ' later ones');
  }
  if (loops(i)) line('loops', loops(i));
  if (D.pass[i]) line('pass', D.pass[i]);
  if (S[s[2]]) line('kernel line', S[s[2]] + (S[s[3]] ? ' in ' + S[s[3]] : ''));
  return make('div', {className: 'about'}, make('h3', {}, op(i), quiet(' \u00b7 ' + D.rows[row[i]])), dl,
              S[s[4]] ? make('span', {className: 'source', textContent: S[s[4]]}) : null);
}

// ---- layout
const GUTTER = 156, AXIS = 26, view = $('view'), map = $('map');
const ctx = view.getContext('2d'), mapCtx = map.getContext('2d');
const tracks = [], bands = [];
let height = AXIS + 4;
for (let r = 0; r < D.rows.length; ++r) {
  if (r === QUEUE) height += 8;
  const lanes = Math.max(1, D.lanes[r]), h = r < QUEUE ? (D.lanes[r] ? 32 : 20) : 19;
  bands.push({y: height, h: h * lanes, empty: D.lanes[r] === 0});
  for (let l = 0; l < lanes; ++l) tracks.push({row: r, lane: l, y: height + h * l, h, ids: []});
  height += h * lanes + 7;
}
height += 4;
const trackOf = new Uint8Array(N);
for (let i = 0; i < N; ++i) {
  const k = tracks.findIndex(x => x.row === row[i] && x.lane === lane[i]);
  trackOf[i] = k;
  tracks[k].ids.push(i);
}
const middle = i => tracks[trackOf[i]].y + tracks[trackOf[i]].h / 2;

const margin = (D.end - D.begin) * 0.01, least = D.begin - margin, most = D.end + margin;
let v0 = least, v1 = most, width = 0, dpr = 1;
let hover = -1, pinned = -1, mouse = null, printing = false, found = null;
const X = t => GUTTER + (t - v0) / (v1 - v0) * (width - GUTTER - 8);
const T = x => v0 + (x - GUTTER) / (width - GUTTER - 8) * (v1 - v0);
function show(a, b) {
  const span = Math.min(Math.max(b - a, 20 * D.tpn), most - least);
  a = Math.min(Math.max(a + (b - a - span) / 2, least), most - span);
  v0 = a; v1 = a + span;
  redraw();
}
const zoom = (factor, at) => show(at - (at - v0) * factor, at + (v1 - at) * factor);

// ---- colours and patterns
const dark = matchMedia('(prefers-color-scheme: dark)');
const ink = () => dark.matches && !printing
  ? {fg: '#e6e9ec', muted: '#9aa4ae', band: '#1e2327', line: '#39414a', card: '#1b1f23', accent: '#56B4E9'}
  : {fg: '#1f2328', muted: '#59636e', band: '#f3f4f6', line: '#d5d9de', card: '#ffffff', accent: '#0072B2'};
let fills = [], waitFills = [];
function stripes(paper, color, marks) {
  const c = document.createElement('canvas');
  c.width = c.height = Math.round(8 * dpr);
  const g = c.getContext('2d');
  g.scale(c.width / 8, c.width / 8);
  g.fillStyle = paper; g.fillRect(0, 0, 8, 8);
  g.strokeStyle = color; g.lineWidth = 1.5;
  g.stroke(new Path2D(marks));
  const p = ctx.createPattern(c, 'repeat');
  p.setTransform(new DOMMatrix().scale(8 / c.width));
  return p;
}
function paint() {
  fills = D.colors.map((c, k) => D.marks[k] ? stripes(c, 'rgba(0,0,0,.36)', D.marks[k]) : c);
  waitFills = D.causeColors.map((c, k) => stripes(ink().band, c, D.causeMarks[k]));
}

// ---- drawing
let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}
function size() {
  width = view.parentElement.clientWidth;
  dpr = printing ? 2 : window.devicePixelRatio || 1;
  for (const [c, h] of [[view, height], [map, 46]]) {
    c.width = Math.round(width * dpr); c.height = Math.round(h * dpr);
    c.style.height = h + 'px';
  }
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
  mapCtx.setTransform(dpr, 0, 0, dpr, 0, 0);
  paint();
}
/// First bar of a track that ends after t.
function firstAfter(ids, t) {
  let a = 0, b = ids.length;
  while (a < b) {
    const m = (a + b) >> 1;
    if (t1[ids[m]] < t) a = m + 1; else b = m;
  }
  return a;
}
function niceStep(x) {
  const p = Math.pow(10, Math.floor(Math.log10(x)));
  return x <= p ? p : x <= 2 * p ? 2 * p : x <= 5 * p ? 5 * p : 10 * p;
}
function bars(k) {
  const track = tracks[k], ids = track.ids, y = track.y + 1.5, h = track.h - 3;
  const from = Math.max(0, firstAfter(ids, v0) - 1);
  // Bars too thin to part are drawn as one, as high as they cover its width; a lone one is a line.
  const run = {n: 0, x0: 0, x1: 0, cover: 0, look: 0, follows: false};
  const flush = () => {
    if (run.n === 0) return;
    const w = Math.max(run.x1 - run.x0, 1);
    const high = run.n > 1 || run.follows ? Math.max(2, h * Math.min(1, run.cover / w)) : h;
    ctx.fillStyle = D.colors[run.look];
    ctx.fillRect(run.x0, y + h - high, w, high);
    run.n = 0;
  };
  if ($('waits').checked)
    for (let j = from; j < ids.length; ++j) {
      const i = ids[j];
      for (let w = waitOf[i]; w < waitOf[i + 1]; ++w) {
        const before = j > 0 ? X(t1[ids[j - 1]]) : -1e9;
        const a = Math.max(X(wFrom[w]), GUTTER, before), b = Math.min(X(wUntil[w]), X(t0[i]), width);
        if (b - a < 0.5) continue;
        ctx.globalAlpha = found && !found(i) ? 0.15 : 1;
        ctx.fillStyle = b - a < 4 ? D.causeColors[wCause[w]] : waitFills[wCause[w]];
        ctx.fillRect(a, track.y + track.h / 2 - 4, b - a, 8);
      }
      if (t0[i] > v1) break;
    }
  ctx.textBaseline = 'middle';
  ctx.font = '11px system-ui, "DejaVu Sans", sans-serif';
  for (let j = from; j < ids.length; ++j) {
    const i = ids[j];
    if (t0[i] > v1) break;
    const next = j + 1 < ids.length ? t0[ids[j + 1]] : Infinity;
    const a = Math.max(X(t0[i]), GUTTER - 1), b = Math.min(X(Math.min(t1[i], next)), width + 1), w = b - a;
    if (w < 2) {
      if (found && !found(i)) continue;
      const near = run.n > 0 && a - run.x1 < 2.5 && run.look === look(i);
      if (near && b - run.x0 <= 6 || run.n > 0 && b - run.x1 < 0.5) {
        ++run.n;
      } else {
        if (near) run.x1 = a;
        flush();
        Object.assign(run, {n: 1, x0: a, x1: b, cover: 0, look: look(i), follows: near});
      }
      run.cover += w;
      run.x1 = Math.max(run.x1, b);
      continue;
    }
    ctx.globalAlpha = 1;
    flush();
    ctx.globalAlpha = found && !found(i) ? 0.15 : 1;
    const gap = w > 4 ? 1 : w > 2 ? 0.5 : 0;
    ctx.fillStyle = w < 5 ? D.colors[look(i)] : fills[look(i)];
    ctx.fillRect(a, y, w - gap, h);
    if (w > 44 && h > 11 && ctx.globalAlpha === 1) {
      const long = S[site(i)[5]], short = S[site(i)[6]];
      const text = w > 190 && long ? op(i) + '  ' + long : w > 110 ? brief(i) : short || op(i);
      const m = ctx.measureText(text).width;
      if (m < w - 8) {
        const l = look(i);
        if (D.marks[l]) { ctx.fillStyle = D.colors[l]; ctx.fillRect(a + 3, y + h / 2 - 7, m + 6, 14); }
        ctx.fillStyle = l === 0 ? '#ffffff' : '#000000';
        ctx.fillText(text, a + 6, y + h / 2 + 0.5);
      }
    }
  }
  ctx.globalAlpha = 1;
  flush();
}
function outline(i, style, dash) {
  const track = tracks[trackOf[i]];
  ctx.strokeStyle = style; ctx.lineWidth = 2; ctx.setLineDash(dash || []);
  ctx.strokeRect(X(t0[i]) - 1, track.y + 0.5, Math.max(X(t1[i]) - X(t0[i]), 2) + 2, track.h - 1);
  ctx.setLineDash([]);
}
function arrow(p, i, t, thin) {
  const c = ink(), xa = X(t1[p] > t && row[i] >= QUEUE ? t0[p] : t1[p]), ya = middle(p), xb = X(t), yb = middle(i);
  const bend = Math.max(24, Math.abs(xb - xa) / 2);
  ctx.strokeStyle = thin ? c.muted : c.fg; ctx.fillStyle = ctx.strokeStyle; ctx.lineWidth = thin ? 1 : 1.75;
  ctx.beginPath(); ctx.moveTo(xa, ya); ctx.bezierCurveTo(xa + bend, ya, xb - bend, yb, xb - 5, yb); ctx.stroke();
  ctx.beginPath(); ctx.moveTo(xb, yb); ctx.lineTo(xb - 7, yb - 4); ctx.lineTo(xb - 7, yb + 4); ctx.fill();
}
function mark(i, strong) {
  const c = ink();
  if ($('arrows').checked) {
    const next = heirs.slice(heirsAt[i], heirsAt[i + 1]);
    for (const h of next.slice(0, 12)) {
      let t = t0[h];
      for (let w = waitOf[h]; w < waitOf[h + 1]; ++w) if (wProducer[w] === i) t = Math.min(wUntil[w], t0[h]);
      arrow(i, h, t, true);
    }
    for (let w = waitOf[i]; w < waitOf[i + 1]; ++w)
      if (wProducer[w] >= 0) {
        outline(wProducer[w], c.accent, [4, 2]);
        arrow(wProducer[w], i, Math.min(wUntil[w], t0[i]), false);
      }
    if (trigger[i] >= 0) { outline(trigger[i], c.accent, [4, 2]); arrow(trigger[i], i, t0[i], false); }
  }
  outline(i, c.fg);
  if (strong) { ctx.fillStyle = c.fg; const x = X((t0[i] + t1[i]) / 2), y = tracks[trackOf[i]].y;
    ctx.beginPath(); ctx.moveTo(x, y + 1); ctx.lineTo(x - 5, y - 6); ctx.lineTo(x + 5, y - 6); ctx.fill(); }
}
function draw() {
  const c = ink();
  ctx.fillStyle = c.card; ctx.fillRect(0, 0, width, height);
  for (const b of bands) { ctx.fillStyle = c.band; ctx.fillRect(GUTTER, b.y, width - GUTTER - 8, b.h); }
  // time axis
  ctx.font = '11px system-ui, "DejaVu Sans", sans-serif'; ctx.textBaseline = 'alphabetic'; ctx.textAlign = 'center';
  const unit = 1000 * D.tpn, step = niceStep((v1 - v0) / unit / Math.max(3, (width - GUTTER) / 110));
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  for (let k = Math.ceil(v0 / unit / step); k * step * unit <= v1; ++k) {
    const x = X(k * step * unit);
    ctx.fillStyle = c.line; ctx.fillRect(Math.round(x), AXIS - 4, 1, height - AXIS);
    ctx.fillStyle = c.muted;
    if (x >= GUTTER && x < width - 24) ctx.fillText(fixed(k * step || 0, decimals), x, AXIS - 9);
  }
  ctx.textAlign = 'left'; ctx.fillStyle = c.muted; ctx.fillText('time in \u00b5s', 12, AXIS - 9);
  ctx.save();
  ctx.beginPath(); ctx.rect(GUTTER, AXIS - 6, width - GUTTER - 8, height - AXIS + 6); ctx.clip();
  for (let k = 0; k < tracks.length; ++k) bars(k);
  if (D.gap) {
    const a = X(D.gap.from), b = X(D.gap.until);
    ctx.fillStyle = stripes(c.card, c.line, 'M-1 9L9 -1'); ctx.fillRect(a, AXIS, b - a, height);
    if (b - a > 180) {
      ctx.fillStyle = c.fg; ctx.textAlign = 'center'; ctx.textBaseline = 'middle';
      const text = D.gap.text, m = ctx.measureText(text).width, x = (Math.max(a, GUTTER) + Math.min(b, width)) / 2;
      ctx.fillStyle = c.card; ctx.fillRect(x - m / 2 - 8, height / 2 - 10, m + 16, 20);
      ctx.fillStyle = c.fg; ctx.fillText(text, x, height / 2); ctx.textAlign = 'left';
    }
  }
  if (mouse && !printing) { ctx.fillStyle = c.muted; ctx.fillRect(Math.round(mouse.x), AXIS - 4, 1, height); }
  if (pinned >= 0) mark(pinned, true);
  if (hover >= 0 && hover !== pinned && !printing) mark(hover, false);
  ctx.restore();
  // row names
  for (let r = 0; r < bands.length; ++r) {
    const b = bands[r];
    ctx.textBaseline = 'middle'; ctx.textAlign = 'left';
    ctx.fillStyle = b.empty ? c.muted : c.fg;
    ctx.font = (b.empty ? '' : '600 ') + '12.5px system-ui, "DejaVu Sans", sans-serif';
    ctx.fillText(D.rows[r], 12, b.y + b.h / 2);
    ctx.textAlign = 'right'; ctx.fillStyle = c.muted; ctx.font = '11px system-ui, "DejaVu Sans", sans-serif';
    if (!b.empty) ctx.fillText(D.busy[r], GUTTER - 6, b.y + b.h / 2);
  }
  ctx.textAlign = 'left';
  if (mouse && !printing && mouse.x >= GUTTER) {
    const text = us(T(mouse.x)), m = ctx.measureText(text).width;
    const x = Math.min(Math.max(mouse.x, GUTTER + m / 2), width - m / 2 - 12);
    ctx.fillStyle = c.fg; ctx.fillRect(x - m / 2 - 5, 2, m + 10, 17);
    ctx.fillStyle = c.card; ctx.fillText(text, x - m / 2, 11);
  }
  drawMap();
}
let mapImage = null, mapKey = '';
function drawMap() {
  const c = ink(), x = t => GUTTER + (t - least) / (most - least) * (width - GUTTER - 8);
  const key = [width, dpr, c.card].join();
  if (key !== mapKey) {
    mapKey = key;
    mapImage = document.createElement('canvas');
    mapImage.width = map.width; mapImage.height = map.height;
    const g = mapImage.getContext('2d');
    g.scale(dpr, dpr);
    g.fillStyle = c.card; g.fillRect(0, 0, width, 46);
    const h = 38 / D.rows.length;
    for (let i = 0; i < N; ++i) {
      g.fillStyle = D.colors[look(i)];
      g.fillRect(x(t0[i]), 4 + row[i] * h, Math.max(x(t1[i]) - x(t0[i]), 0.5), h - 1);
    }
    g.fillStyle = c.muted; g.font = '11px system-ui, "DejaVu Sans", sans-serif'; g.textBaseline = 'middle';
    g.fillText('whole run', 12, 23);
  }
  mapCtx.setTransform(1, 0, 0, 1, 0, 0); mapCtx.drawImage(mapImage, 0, 0); mapCtx.setTransform(dpr, 0, 0, dpr, 0, 0);
  const a = x(v0), b = Math.max(x(v1), a + 3);
  mapCtx.globalAlpha = 0.72; mapCtx.fillStyle = c.card;
  mapCtx.fillRect(GUTTER, 0, a - GUTTER, 46); mapCtx.fillRect(b, 0, width - b, 46);
  mapCtx.globalAlpha = 1; mapCtx.strokeStyle = c.fg; mapCtx.lineWidth = 1.5; mapCtx.strokeRect(a, 1, b - a, 44);
}

// ---- what is under the pointer
function hit(x, y) {
  const k = tracks.findIndex(t => y >= t.y && y < t.y + t.h);
  if (k < 0 || x < GUTTER) return -1;
  const ids = tracks[k].ids, t = T(x), near = 3 * (v1 - v0) / (width - GUTTER);
  let a = 0, b = ids.length;
  while (a < b) { const m = (a + b) >> 1; if (t0[ids[m]] <= t) a = m + 1; else b = m; }
  if (a > 0 && t <= t1[ids[a - 1]]) return ids[a - 1];
  if (a < ids.length && t0[ids[a]] - t < near) return ids[a];
  if (a > 0 && t - t1[ids[a - 1]] < near) return ids[a - 1];
  if (a < ids.length && $('waits').checked)
    for (let w = waitOf[ids[a]]; w < waitOf[ids[a] + 1]; ++w) if (wFrom[w] <= t && t <= wUntil[w]) return ids[a];
  return -1;
}
const tip = $('tip');
function showTip() {
  if (hover < 0 || !mouse) { tip.style.visibility = 'hidden'; return; }
  tip.replaceChildren(about(hover, false));
  const box = view.parentElement.getBoundingClientRect();
  let x = mouse.x + 16, y = mouse.y + map.clientHeight + 18;
  if (x + tip.offsetWidth > box.width - 4) x = Math.max(4, mouse.x - tip.offsetWidth - 16);
  tip.style.transform = 'translate(' + x + 'px,' + y + 'px)';
  tip.style.visibility = 'visible';
}
const help = 'Point at a bar to see what it is, what it waited for and which kernel line wrote it; ' +
  'click to keep it here.';
function pin(i, move) {
  pinned = i;
  $('pin').replaceChildren(i < 0 ? quiet(help) : about(i, true));
  $('say').textContent = i < 0 ? '' : sentence(i);
  if (i >= 0 && move) reveal(i);
  redraw();
}
function focus(i) {
  const length = Math.max(t1[i] - t0[i], 50 * D.tpn);
  show(t0[i] - 2 * length, t1[i] + 2 * length);
}
function reveal(i) {
  const w = v1 - v0, length = t1[i] - t0[i];
  if (length > w) show(t0[i] - length * 0.2, t1[i] + length * 0.2);
  else if (t0[i] < v0 || t1[i] > v1) show((t0[i] + t1[i] - w) / 2, (t0[i] + t1[i] + w) / 2);
  else redraw();
}

// ---- pointer
const at = e => { const b = view.getBoundingClientRect(); return {x: e.clientX - b.left, y: e.clientY - b.top}; };
let drag = null;
view.addEventListener('wheel', e => {
  e.preventDefault();
  const scale = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1, w = v1 - v0;
  const sideways = e.shiftKey ? e.deltaY || e.deltaX : Math.abs(e.deltaX) > Math.abs(e.deltaY) ? e.deltaX : 0;
  if (sideways) { const by = sideways * scale * w / (width - GUTTER); show(v0 + by, v1 + by); }
  else zoom(Math.exp(Math.max(-400, Math.min(400, e.deltaY * scale)) * 0.0018), T(Math.max(GUTTER, at(e).x)));
  hover = mouse ? hit(mouse.x, mouse.y) : -1;
  showTip();
}, {passive: false});
view.addEventListener('pointerdown', e => {
  if (e.button !== 0) return;
  drag = {x: at(e).x, v0, v1, moved: false};
  view.setPointerCapture(e.pointerId);
});
view.addEventListener('pointermove', e => {
  mouse = at(e);
  if (drag) {
    const dx = mouse.x - drag.x;
    if (Math.abs(dx) > 3) { drag.moved = true; view.classList.add('drag'); }
    if (drag.moved) {
      const by = dx * (drag.v1 - drag.v0) / (width - GUTTER - 8);
      show(drag.v0 - by, drag.v1 - by);
      hover = -1; showTip();
      return;
    }
  }
  hover = hit(mouse.x, mouse.y);
  showTip();
  redraw();
});
view.addEventListener('pointerup', e => {
  const moved = drag && drag.moved;
  drag = null;
  view.classList.remove('drag');
  if (!moved && e.button === 0) { const p = at(e), i = hit(p.x, p.y); pin(i === pinned ? -1 : i, false); }
});
view.addEventListener('pointercancel', () => { drag = null; view.classList.remove('drag'); });
view.addEventListener('pointerleave', () => { mouse = null; hover = -1; showTip(); redraw(); });
view.addEventListener('dblclick', e => {
  const p = at(e), i = hit(p.x, p.y);
  if (i >= 0) { focus(i); pin(i, false); }
});
let mapDrag = false;
function mapTo(e) {
  const x = (e.clientX - map.getBoundingClientRect().left - GUTTER) / (width - GUTTER - 8);
  const t = least + x * (most - least), w = v1 - v0;
  show(t - w / 2, t + w / 2);
}
map.addEventListener('pointerdown', e => { mapDrag = true; map.setPointerCapture(e.pointerId); mapTo(e); });
map.addEventListener('pointermove', e => { if (mapDrag) mapTo(e); });
map.addEventListener('pointerup', () => { mapDrag = false; });

// ---- keyboard
function step(by) {
  if (pinned < 0) { pin(tracks.find(t => t.ids.length).ids[0], true); return; }
  const ids = tracks[trackOf[pinned]].ids, k = ids.indexOf(pinned) + by;
  if (k >= 0 && k < ids.length) pin(ids[k], true);
}
function stepRow(by) {
  if (pinned < 0) { step(1); return; }
  for (let k = trackOf[pinned] + by; k >= 0 && k < tracks.length; k += by) {
    const ids = tracks[k].ids;
    if (ids.length) { pin(ids[Math.min(firstAfter(ids, t0[pinned]), ids.length - 1)], true); return; }
  }
}
view.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const w = v1 - v0, center = pinned >= 0 && t0[pinned] >= v0 && t0[pinned] <= v1 ? t0[pinned] : (v0 + v1) / 2;
  const keys = {
    '+': () => zoom(0.6, center), '=': () => zoom(0.6, center),
    '-': () => zoom(1 / 0.6, center), '_': () => zoom(1 / 0.6, center),
    ArrowLeft: () => show(v0 - w * 0.15, v1 - w * 0.15), ArrowRight: () => show(v0 + w * 0.15, v1 + w * 0.15),
    ArrowUp: () => stepRow(-1), ArrowDown: () => stepRow(1),
    Home: () => show(least, most), End: () => show(most - w, most),
    '.': () => step(1), ',': () => step(-1), Escape: () => pin(-1, false),
    p: () => {
      if (pinned < 0) return;
      let p = trigger[pinned];
      for (let w2 = waitOf[pinned]; w2 < waitOf[pinned + 1]; ++w2) if (wProducer[w2] >= 0) p = wProducer[w2];
      if (p >= 0) pin(p, true);
    },
    z: () => { if (pinned >= 0) focus(pinned); }
  };
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
});

// ---- tools
function find(text) {
  const q = text.trim().toLowerCase();
  $('find').value = text;
  if (!q) { found = null; $('count').textContent = ''; redraw(); return; }
  const has = list => list.some(s => S[s].toLowerCase().includes(q));
  const sites = D.sites.map(s => has([s[0], s[2], s[3], s[5]]));
  const sets = D.operands.map(set => set.some(o => has([o[1]])));
  found = i => sites[D.site[i]] || sets[D.ops[i]];
  let n = 0;
  for (let i = 0; i < N; ++i) if (found(i)) ++n;
  $('count').textContent = n.toLocaleString('en') + ' of ' + N.toLocaleString('en') + ' bars';
  redraw();
}
$('find').addEventListener('input', e => find(e.target.value));
$('in').onclick = () => zoom(0.6, (v0 + v1) / 2);
$('out').onclick = () => zoom(1 / 0.6, (v0 + v1) / 2);
$('all').onclick = () => show(least, most);
for (const id of ['waits', 'arrows']) $(id).addEventListener('change', redraw);
for (const cell of document.querySelectorAll('[data-find]')) {
  const text = cell.textContent;
  const button = link(text, () => {
    find($('find').value === text ? '' : text);
    view.scrollIntoView({block: 'nearest'});
  });
  button.title = 'Highlight in the timeline';
  cell.replaceChildren(button);
}
new ResizeObserver(() => { size(); draw(); }).observe(view.parentElement);
dark.addEventListener('change', () => { paint(); redraw(); });
addEventListener('beforeprint', () => { printing = true; size(); draw(); });
addEventListener('afterprint', () => { printing = false; size(); draw(); });
pin(-1, false);
size();
draw();
})();
)js";

}  // namespace nki::inline v0_1::emit::detail
