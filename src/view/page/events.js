// events.js - single events: a list that grows at both ends, and a search that goes on. No document here.

const PAGE = 200, KEPT = 10000;

// Pages of a list from a moment on. 'ask' is Server.events. What is far from where one looks is forgotten.
export class EventList {
  constructor(ask) {
    this.ask = ask;
    this.clear();
  }

  clear() {
    Object.assign(this, { items: [], of: {}, from: 0, next: null, before: 0, first: true, last: true, busy: false });
  }

  async open(of, from) {
    this.clear();
    Object.assign(this, { of, from, next: { from, skip: 0 }, before: from, first: from === 0, last: false });
    return this.later();
  }

  // One page behind the last event; how many came. A page may be empty, and not the last.
  async later() {
    if (this.last || this.busy) return 0;
    this.busy = true;
    try {
      const { of } = this, page = await this.ask({ ...of, ...this.next, most: PAGE });
      if (of !== this.of) return 0;
      this.last = !page.more;
      this.next = { from: page.next_ns, skip: page.skip };
      this.items.push(...page.events);
      return page.events.length;
    } finally {
      this.busy = false;
    }
  }

  // One page before the first event; how many came, and how many were forgotten at the other end.
  async earlier() {
    if (this.first || this.busy) return 0;
    this.busy = true;
    try {
      const { of, before } = this, page = await this.ask({ ...of, from: 0, to: before, back: 1, most: PAGE });
      if (of !== this.of) return 0;
      let events = page.events;
      this.first = !page.more && events.length < PAGE;
      if (events.length === PAGE) events = wholeTimes(events);
      this.before = events.length ? events[0].ns : Math.min(page.next_ns, before - 1);
      if (this.before <= 0) this.first = true;
      this.items.unshift(...events);
      this.forget();
      return events.length;
    } finally {
      this.busy = false;
    }
  }

  // What is behind is asked for again when it is wanted.
  forget() {
    if (this.items.length <= KEPT) return;
    const kept = wholeTimes(this.items.slice(0, KEPT).reverse()).reverse();
    this.next = { from: kept[kept.length - 1].ns + 1, skip: 0 };
    this.last = false;
    this.items = kept;
  }
}

// Events of the outermost time may go on beyond the page: they come with the next one.
function wholeTimes(events) {
  const inner = events.findIndex((event) => event.ns !== events[0].ns);
  return inner > 0 ? events.slice(inner) : events;
}

// Looks for a text in events from a moment on, in either direction, a page at a time.
export class EventSearch {
  constructor(ask, text, at) {
    Object.assign(this, { ask, text, next: { from: at, skip: 0 }, before: at, more: true, earlier: at > 0 });
  }

  async later(most, looked) {
    for (;;) {
      if (!this.more) return [];
      const page = await this.ask({ q: this.text, ...this.next, most });
      this.next = { from: page.next_ns, skip: page.skip };
      this.more = page.more;
      if (page.events.length) return page.events;
      if (page.more) looked(page.next_ns);
    }
  }

  // The last one before.
  async back(looked) {
    while (this.earlier && this.before > 0) {
      const page = await this.ask({ q: this.text, from: 0, to: this.before, back: 1, most: 1 });
      this.earlier = page.more || page.events.length > 0;
      if (page.events.length) {
        this.before = page.events[0].ns;
        return page.events;
      }
      if (page.next_ns >= this.before) break;
      this.before = page.next_ns;
      looked(page.next_ns);
    }
    this.earlier = false;
    return [];
  }
}

export function eventWords(event) {
  return `${event.event}${event.call ? ` ${event.call}` : ""}: ${event.text}`;
}
