// What a page does beyond links and forms: it asks again while a form changes, draws a slider above each
// limit, orders a table by a click on its heads, and takes dropped files. Pages read and work without it.
"use strict";

const PAUSE_MS = 120;
const STEPS = 200;

function live(form) {
  let waiting, asking, asked;
  const action = form.action;
  const ask = async () => {
    const pairs = [...new FormData(form)].filter(([, value]) => value !== "");
    const address = new URL(action);
    address.search = new URLSearchParams(pairs);
    if (address.href === asked) return;
    asked = address.href;
    asking?.abort();
    asking = new AbortController();
    const answer = document.getElementById("answer");
    answer.classList.add("busy");
    try {
      const found = await fetch(address, {signal: asking.signal});
      show(form, new DOMParser().parseFromString(await found.text(), "text/html"), found.url);
    } catch (error) {
      if (error.name === "AbortError") return;
      answer.textContent = "The server does not answer.";
      asked = undefined;
    }
    answer.classList.remove("busy");
  };
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(ask, PAUSE_MS); };
  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
  form.addEventListener("submit", event => { event.preventDefault(); clearTimeout(waiting); ask(); });
}

function show(form, page, address) {
  const now = document.getElementById("answer"), message = page.querySelector(".message");
  // Neither an answer nor a message: something between here and the server spoke instead.
  const answer = page.getElementById("answer")?.childNodes ?? [message ?? "The server did not understand."];
  now.replaceChildren(...answer);
  now.querySelectorAll("table").forEach(sortable);
  drawAll(now);
  // Links are relative to the address, which changes below.
  for (const part of ["header.site", "h1", "#formats", ".uses"]) {
    const now = document.querySelector(part), next = page.querySelector(part);
    if (now && next) now.replaceChildren(...next.childNodes);
  }
  document.title = page.title;
  refill(form, page);
  history.replaceState(null, "", address);
}

// Modes and precisions follow the workload.
function refill(form, page) {
  for (const name of ["workload", "mode", "precision", "work", "latency", "sort"]) {
    const now = form.elements[name], next = page.querySelector(`form [name=${name}]`);
    if (!now || !next || now === document.activeElement) continue;
    // Options that leave their list one by one make it choose another one of the rest each time.
    if (now.tagName === "SELECT") now.innerHTML = next.innerHTML;
    else now.value = next.value;
  }
}

// A logarithmic slider beside a number; its end means no limit.
function slider(input) {
  const low = Math.log(+input.dataset.low), high = Math.log(+input.dataset.high);
  const free = "least" in input.dataset ? 0 : STEPS;
  const range = document.createElement("input");
  Object.assign(range, {type: "range", min: 0, max: STEPS, step: 1});
  range.setAttribute("aria-label", input.closest("label").firstChild.textContent.trim());
  const place = () => {
    // The logarithm of zero is no place: a least of nothing stands at the end, as no limit does.
    const at = Math.max(0, Math.round((Math.log(+input.value) - low) / (high - low) * STEPS));
    range.value = input.value ? at : free;
    range.setAttribute("aria-valuetext", input.value || input.placeholder);
  };
  range.addEventListener("input", event => {
    const value = Math.exp(low + (high - low) * range.value / STEPS);
    const whole = "whole" in input.dataset;
    input.value = +range.value === free ? "" : whole ? 2 ** Math.round(Math.log2(value)) : +value.toPrecision(2);
    range.setAttribute("aria-valuetext", input.value || input.placeholder);
  });
  input.addEventListener("input", place);
  place();
  input.closest("label").append(range);
}

function droppable(form) {
  const file = form.querySelector("[type=file]"), text = form.querySelector("textarea");
  const over = on => event => { event.preventDefault(); form.classList.toggle("over", on); };
  form.addEventListener("dragover", over(true));
  form.addEventListener("dragleave", over(false));
  form.addEventListener("drop", event => {
    over(false)(event);
    if (!event.dataTransfer.files.length) return;
    file.files = event.dataTransfer.files;
    form.requestSubmit();
  });
  text?.addEventListener("input", () => { file.value = ""; });
  file.addEventListener("change", () => form.requestSubmit());
}

// The first number of `$8.60`, `1,400 W (…)`, `5.49 M` or `156 ms`; undefined where there is none.
function number(text) {
  const found = /^[^\d-]{0,2}(-?[\d.,]*\d)\s?(?:([kMGTP])|([mµ])s\b)?/.exec(text);
  if (!found) return undefined;
  const power = found[2] ? "kMGTP".indexOf(found[2]) + 1 : found[3] ? -1 - "mµ".indexOf(found[3]) : 0;
  return found[1].replaceAll(",", "") * 1000 ** power;
}

// A click on a head orders the rows, numbers the largest first and texts from A, another click the other way;
// rows that say nothing come last. Heads that are links let the server order, which sees all rows.
function sortable(table) {
  const body = table.tBodies[0], heads = [...(table.tHead?.rows[0].cells ?? [])];
  if (!body || body.rows.length < 3 || table.tHead.querySelector("a")) return;
  for (const head of heads) {
    if (!head.textContent.trim() || head.classList.contains("bar-head") || head.classList.contains("rank")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("number");
      const now = head.getAttribute("aria-sort");
      const falling = now ? now === "ascending" : numeric && !("least" in head.dataset);
      const value = row => {
        const text = row.cells[head.cellIndex].textContent.trim();
        return numeric ? number(text) : text === "-" ? "" : text;
      };
      const order = (a, b) => {
        const [x, y] = [value(a), value(b)], none = v => v === undefined || v === "";
        if (none(x) || none(y)) return none(x) - none(y);
        const found = numeric ? x - y : x.localeCompare(y, undefined, {numeric: true});
        return falling ? -found : found;
      };
      body.append(...[...body.rows].sort(order));
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    });
  }
}

function findable(input) {
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of document.querySelectorAll(".ranking tbody tr")) {
      const text = (row.textContent + row.querySelector(".kind").getAttribute("aria-label")).toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
  });
}

document.querySelectorAll("main table").forEach(sortable);
document.querySelectorAll("[data-find]:is(input)").forEach(findable);
document.querySelectorAll("[data-low]").forEach(slider);
document.querySelectorAll("form[data-live]").forEach(live);
document.querySelectorAll("form[data-drop]").forEach(droppable);
