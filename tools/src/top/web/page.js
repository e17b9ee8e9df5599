// Draws what `data` tells, once for each interval. Texts go in as text, never as markup.
"use strict";

const $ = (id) => document.getElementById(id);
const PARTS = [["computing", "computing"], ["waiting", "waiting"], ["copying", "copying"], ["library", "else in MPI"]];
const MEANS = ["inline", "cells", "direct", "cross_memory", "memory_file"];
const KEPT = 600;
let points = [], report = null, interval = 1, totals = false, sort = { by: "rank", down: false };

// ---- numbers -------------------------------------------------------------
function scaled(value, base, units) {
  let unit = 0;
  while (value >= 999.5 && unit + 1 < units.length) { value /= base; unit++; }
  const digits = value < 9.95 && (unit > 0 || value % 1) ? 1 : 0;
  return value.toFixed(digits) + units[unit];
}
const bytes = (value) => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
const count = (value) => scaled(value, 1000, ["", "k", "M", "G", "T"]);
const percent = (value) => Math.round(value * 100) + " %";
function duration(s) {
  if (s < 0.001) return (s * 1e6).toFixed(0) + " µs";
  if (s < 1) return (s * 1e3).toFixed(0) + " ms";
  if (s < 60) return s.toFixed(1) + " s";
  const two = (n) => String(Math.floor(n)).padStart(2, "0");
  return s < 3600 ? Math.floor(s / 60) + ":" + two(s % 60) : Math.floor(s / 3600) + ":" + two(s / 60 % 60) + ":" + two(s % 60);
}
const sum = (list, f) => list.reduce((all, one) => all + f(one), 0);

// ---- drawing -------------------------------------------------------------
function add(parent, name, attributes = {}, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}
function fresh(id, width, height) {
  const svg = $(id);
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return svg;
}
// A round number not below the value.
function ceiling(value, base) {
  if (value <= 0) return 1;
  const power = base ** Math.floor(Math.log(value) / Math.log(base));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10, 16, 32, 64, 128, 256, 512, 1024].map((n) => n * power).find((n) => n >= value) || value;
}

// Frame of a chart over time: returns where a point lies.
function frame(svg, width, height, top, label) {
  const left = 62, right = width - 8, above = 8, below = height - 22;
  for (let step = 0; step <= 4; step++) {
    const y = below - (below - above) * step / 4;
    add(svg, "line", { class: "grid", x1: left, x2: right, y1: y, y2: y });
    if (step % 2 === 0) add(svg, "text", { x: left - 6, y: y + 4, "text-anchor": "end" }, label(top * step / 4));
  }
  const last = points.length ? points[points.length - 1].time : 0;
  const span = Math.max(30 * interval, Math.min(KEPT * interval, points.length ? last - points[0].time : 0));
  for (let step = 0; step <= 4; step++) {
    const x = left + (right - left) * step / 4, ago = span * (1 - step / 4);
    add(svg, "text", { x, y: height - 5, "text-anchor": step === 4 ? "end" : step ? "middle" : "start" },
      step === 4 ? "now" : duration(ago) + " ago");
  }
  return {
    x: (time) => right - (right - left) * (last - time) / span,
    y: (value) => below - (below - above) * Math.min(1, value / top),
    below,
  };
}

function curve(id, field, base, label) {
  const width = 560, height = 170, svg = fresh(id, width, height);
  const at = frame(svg, width, height, ceiling(Math.max(0, ...points.map((p) => p[field])), base), label);
  if (points.length < 2) return;
  const line = points.map((p) => `${at.x(p.time).toFixed(1)},${at.y(p[field]).toFixed(1)}`);
  const first = at.x(points[0].time).toFixed(1), end = at.x(points[points.length - 1].time).toFixed(1);
  add(svg, "polygon", { class: "below", points: `${first},${at.below} ${line.join(" ")} ${end},${at.below}` });
  add(svg, "polyline", { class: "curve", points: line.join(" ") });
}

function timeChart() {
  const width = 1140, height = 190, svg = fresh("time-chart", width, height);
  const at = frame(svg, width, height, 1, percent);
  if (points.length < 2) return;
  const base = points.map(() => 0);
  for (const [part] of PARTS) {
    const lower = points.map((p, i) => `${at.x(p.time).toFixed(1)},${at.y(base[i]).toFixed(1)}`);
    points.forEach((p, i) => { base[i] += p[part]; });
    const upper = points.map((p, i) => `${at.x(p.time).toFixed(1)},${at.y(base[i]).toFixed(1)}`);
    add(svg, "polygon", { class: part, "data-part": part, points: upper.concat(lower.reverse()).join(" ") });
  }
}

function legend() {
  for (const [part, name] of PARTS) {
    const item = document.createElement("li");
    add(add(item, "svg", { viewBox: "0 0 10 10" }), "rect", { class: part, width: 10, height: 10, rx: 2 });
    item.append(name);
    $("time-legend").append(item);
  }
}

// Colours between cold and hot, in steps that both schemes share.
function heat(share) {
  const style = getComputedStyle(document.documentElement);
  const rgb = (name) => style.getPropertyValue(name).trim().slice(1).match(/../g).map((part) => parseInt(part, 16));
  const [cold, hot] = [rgb("--cold"), rgb("--hot")], part = 0.15 + 0.85 * Math.sqrt(share);
  return "rgb(" + cold.map((from, i) => Math.round(from + (hot[i] - from) * part)).join(",") + ")";
}

function matrix() {
  const size = report.ranks.length, width = 560, left = 44, top = 34, side = Math.min(300, 48 * size);
  const cell = side / size, height = top + side + 58, svg = fresh("matrix", width, height);
  const shift = Math.max(left, (width - side) / 2);
  const value = (flow) => totals ? flow.bytes : flow.byte_rate;
  const most = Math.max(0, ...report.traffic.map(value)), every = Math.ceil(size / 16);
  for (let rank = 0; rank < size; rank += every) {
    const middle = (rank + 0.5) * cell;
    add(svg, "text", { x: shift - 6, y: top + middle + 4, "text-anchor": "end" }, rank);
    add(svg, "text", { x: shift + middle, y: top - 5, "text-anchor": "middle" }, rank);
  }
  add(svg, "text", { x: shift + side / 2, y: 12, "text-anchor": "middle" }, "to rank");
  add(svg, "text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(${shift - 30} ${top + side / 2}) rotate(-90)` }, "from rank");
  add(svg, "rect", { class: "cell none", x: shift, y: top, width: side, height: side });
  const unit = totals ? "" : "/s";
  for (const flow of report.traffic.filter((flow) => value(flow) > 0)) {
    const rect = add(svg, "rect", {
      class: "cell", x: shift + flow.to * cell, y: top + flow.from * cell, width: cell, height: cell,
      fill: heat(value(flow) / most), "data-from": flow.from, "data-to": flow.to, "data-value": value(flow),
    });
    const messages = totals ? flow.messages : flow.message_rate;
    add(rect, "title", {}, `rank ${flow.from} to rank ${flow.to}: ${bytes(value(flow))}${unit}, ${count(messages)} messages${unit}`);
  }
  scale(svg, shift, top + side + 14, side, most, unit);
}

function scale(svg, x, y, width, most, unit) {
  const steps = 24;
  for (let step = 0; step < steps; step++)
    add(svg, "rect", { x: x + width * step / steps, y, width: width / steps + 0.5, height: 10, fill: heat((step + 0.5) / steps) });
  const label = (part, anchor) => add(svg, "text", { x: x + width * part, y: y + 25, "text-anchor": anchor }, bytes(most * part) + unit);
  label(0, "start"); label(0.5, "middle"); label(1, "end");
}

function means() {
  const width = 560, row = 34, svg = fresh("means", width, MEANS.length * row + 4);
  const most = Math.max(1, ...MEANS.map((name) => report.rate.bytes_by[name]));
  MEANS.forEach((name, index) => {
    const value = report.rate.bytes_by[name], y = index * row + 4;
    add(svg, "text", { x: 96, y: y + 16, "text-anchor": "end" }, name.replace("_", " "));
    add(svg, "rect", { class: name, x: 104, y: y + 2, width: Math.max(1, 330 * value / most), height: 20, rx: 3, "data-value": value });
    add(svg, "text", { class: "value", x: 112 + 330 * value / most, y: y + 16 }, bytes(value) + "/s");
  });
}

// ---- the table of ranks --------------------------------------------------
const share = (rank, part) => rank.share ? rank.share[part] : -1;
const COLUMNS = [
  ["rank", "rank", (r) => r.rank, (r) => r.rank],
  ["process", "process", (r) => r.process, (r) => r.process],
  ["state", "doing", doing, doing, "left"],
  ["since", "for", (r) => r.share ? duration(r.since) : "", (r) => r.since],
  ["bar", "time", null, (r) => share(r, "computing"), "bar left"],
  ["waiting", "waiting", (r) => r.share ? percent(r.share.waiting) : "", (r) => share(r, "waiting")],
  ["messages", "messages/s", (r) => count(r.rate.messages_sent), (r) => r.rate.messages_sent],
  ["bytes", "bytes/s", (r) => bytes(r.rate.bytes_sent), (r) => r.rate.bytes_sent],
  ["sent", "sent in all", (r) => bytes(r.total.bytes_sent), (r) => r.total.bytes_sent],
  ["unexpected", "unexpected", (r) => count(r.unexpected.now), (r) => r.unexpected.now],
  ["memory", "memory", (r) => bytes(r.memory.resident), (r) => r.memory.resident],
];
function doing(rank) {
  const inside = rank.state === "waiting" || rank.state === "in call";
  if (!inside || !rank.call) return rank.state;
  const peer = rank.peer !== null && rank.peer >= 0 ? ` (rank ${rank.peer})` : "";
  return (rank.state === "waiting" ? "waits in " : "in ") + rank.call + peer;
}
function head() {
  const row = document.createElement("tr");
  for (const [name, label, , , kind] of COLUMNS) {
    const cell = document.createElement("th");
    cell.textContent = label;
    cell.className = kind || "";
    cell.dataset.column = name;
    cell.addEventListener("click", () => {
      sort = { by: name, down: sort.by === name ? !sort.down : name !== "rank" };
      table();
    });
    row.append(cell);
  }
  $("ranks").tHead.append(row);
}
function table() {
  if (!report) return;
  for (const cell of $("ranks").tHead.rows[0].cells)
    cell.setAttribute("aria-sort", cell.dataset.column !== sort.by ? "none" : sort.down ? "descending" : "ascending");
  const key = COLUMNS.find((column) => column[0] === sort.by)[3];
  const order = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (sort.down ? -1 : 1) || a.rank - b.rank;
  $("ranks").tBodies[0].replaceChildren(...[...report.ranks].sort(order).map(tableRow));
}
function tableRow(rank) {
  const row = document.createElement("tr");
  row.dataset.rank = rank.rank;
  if (report.slowest && report.slowest.rank === rank.rank) row.className = "slow";
  if (rank.state === "gone" || rank.state === "aborted") row.className = "bad";
  for (const [name, , text, value, kind] of COLUMNS) {
    const cell = document.createElement("td");
    cell.className = kind || "";
    cell.dataset.column = name;
    if (text) { cell.textContent = text(rank); cell.dataset.value = value(rank); } else shareBar(cell, rank);
    row.append(cell);
  }
  return row;
}
function shareBar(cell, rank) {
  if (!rank.share) return;
  const svg = add(cell, "svg", { viewBox: "0 0 100 9", preserveAspectRatio: "none" });
  let x = 0;
  for (const [part, name] of PARTS) {
    const width = 100 * rank.share[part];
    add(add(svg, "rect", { class: part, x, y: 0, width, height: 9 }), "title", {}, `${name} ${percent(rank.share[part])}`);
    x += width;
  }
}

// ---- everything ----------------------------------------------------------
function draw() {
  const { job, rate, ranks } = report;
  document.title = "serried top: " + job.command;
  $("command").textContent = `${job.ranks} ranks of process ${job.process}: ${job.command}`;
  $("state").className = job.ended ? "pill ended" : "pill live";
  $("state").textContent = job.ended ? "the job has ended" : "running, watched for " + duration(report.watched);
  $("messages").textContent = count(rate.messages_sent);
  $("bytes").textContent = bytes(rate.bytes_sent);
  $("collectives").textContent = count(rate.collectives);
  const live = ranks.filter((rank) => rank.share);
  $("waiting").textContent = live.length ? percent(sum(live, (rank) => rank.share.waiting) / live.length) : "–";
  $("memory").textContent = bytes(sum(ranks, (rank) => rank.memory.resident));
  $("budget").textContent = `of all processes; ${bytes(sum(ranks, (r) => r.memory.aside))} of ` +
    `${bytes(sum(ranks, (r) => r.memory.limit))} aside`;
  const slow = report.slowest;
  $("slowest").textContent = job.ended ? "The job has ended. Shown are its last totals."
    : slow ? `Rank ${slow.rank} waits ${percent(slow.waiting)} of its time, the others ${percent(slow.others_waiting)}: they wait for it.` : "";
  timeChart();
  curve("bytes-chart", "bytes", 1024, (value) => bytes(value));
  curve("messages-chart", "messages", 10, (value) => count(value));
  matrix(); means(); table();
}

async function refresh() {
  let pause = Math.max(200, interval * 1000);
  try {
    const after = points.length ? points[points.length - 1].sequence : 0;
    const answer = await fetch("data?after=" + after, { cache: "no-store" });
    const data = await answer.json();
    interval = data.interval;
    points = points.concat(data.points).slice(-KEPT);
    if (data.report) {
      if (data.report.job.ended && !(report && report.job.ended)) setTotals(true);
      report = data.report;
      draw();
      if (report.job.ended) return;
    }
  } catch (problem) {
    $("state").className = "pill lost";
    $("state").textContent = "serried top does not answer any more";
    pause = 3000;
  }
  setTimeout(refresh, pause);
}

function setTotals(on) {
  totals = on;
  $("per-second").setAttribute("aria-pressed", !on);
  $("in-all").setAttribute("aria-pressed", on);
  if (report) matrix();
}
$("per-second").addEventListener("click", () => setTotals(false));
$("in-all").addEventListener("click", () => setTotals(true));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => report && draw());
legend();
head();
refresh();
