// list.js - a list of events in the document: only the rows in sight are there.

import { EventList, eventWords } from "./events.js";
import { moment } from "./time.js";

const ROW = 20, MARGIN = 10;

export class EventTable {
  // 'box' scrolls; 'chosen' is told of the event that is clicked; 'failed' of errors.
  constructor(box, ask, chosen, failed) {
    Object.assign(this, { box, chosen, failed, list: new EventList(ask), span: null, selected: null });
    this.space = document.createElement("div");
    this.space.className = "space";
    box.append(this.space);
    box.addEventListener("scroll", () => void this.scrolled().catch(failed));
    box.addEventListener("click", (event) => this.choose(event.target.closest("[data-at]")));
    box.addEventListener("keydown", (event) => this.key(event));
  }

  // Those of a span, and what follows.
  async open(of, span) {
    this.span = span;
    this.selected = null;
    await this.list.open(of, span.from);
    for (let pages = 0; !this.list.items.length && !this.list.last && pages < 50; pages++) await this.list.later();
    this.box.scrollTop = 0;
    this.show();
  }

  show() {
    const { items } = this.list, first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - MARGIN);
    const count = Math.ceil(this.box.clientHeight / ROW) + 2 * MARGIN;
    this.space.style.height = `${items.length * ROW}px`;
    this.space.replaceChildren(...items.slice(first, first + count).map((event, i) => this.row(event, first + i)));
  }

  row(event, at) {
    const row = document.createElement("div"), { from, to } = this.span;
    row.dataset.at = at;
    row.tabIndex = 0;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(event === this.selected));
    row.style.top = `${at * ROW}px`;
    row.classList.toggle("outside", event.ns < from || event.ns >= to);
    const who = event.tid >= 0 ? `${event.comm || "?"}[${event.tid}]` : "-";
    for (const text of [moment(event.ns), `CPU ${event.cpu}`, who, eventWords(event)]) {
      const cell = document.createElement("span");
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  }

  choose(row) {
    const chosen = row && this.list.items[Number(row.dataset.at)];
    if (!chosen) return; // a new list is on its way, and these rows are those of the one before
    this.selected = chosen;
    this.show();
    this.space.querySelector("[aria-selected=true]")?.focus({ preventScroll: true });
    this.chosen(this.selected);
  }

  key(event) {
    const row = event.target.closest("[data-at]");
    if (!row) return;
    const to = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling, Enter: row }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") this.choose(row);
    else to?.focus();
  }

  async scrolled() {
    this.show();
    const { box, list } = this, left = list.items.length * ROW - box.scrollTop - box.clientHeight;
    if (left < 40 * ROW) await list.later();
    else if (box.scrollTop < 5 * ROW) box.scrollTop += await list.earlier() * ROW;
    else return;
    this.show();
  }
}
