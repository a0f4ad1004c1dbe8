// SPDX-License-Identifier: MIT
// What a page does beyond what it says: search as one types, a window that moves over a long
// conversation, keys, a period dragged over the chart. Every page can be read without it.
"use strict";
(() => {
  // Our own server's HTML, in which stored text is escaped, is all that is ever put in.
  const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy("mnemogram", { createHTML: (html) => html })
    : { createHTML: (html) => html };
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

  const part = async (address) => {
    const url = new URL(address, location.href);
    url.searchParams.set("part", "1");
    const answer = await fetch(url, { credentials: "same-origin" });
    return answer.text();
  };

  // --- search as one types

  const form = $("#search");
  const results = $("#results");

  const fieldsOf = () => {
    const fields = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value !== "" && !(name === "sort" && value === "relevance")) fields.append(name, value);
    }
    return fields;
  };
  const addressOf = (fields) => {
    const asked = fields.toString();
    return asked ? `/?${asked}` : "/";
  };

  let running = false;
  let shown = form ? addressOf(fieldsOf()) : "";
  // One search at a time, and after it the latest: what was typed meanwhile is never asked.
  const searchNow = async () => {
    const wanted = addressOf(fieldsOf());
    if (running || wanted === shown) return;
    running = true;
    results.setAttribute("aria-busy", "true");
    try {
      const html = await part(wanted);
      shown = wanted;
      results.innerHTML = policy.createHTML(html);
      history.replaceState(null, "", wanted);
      shade();
    } catch {
      shown = "";
      running = false;
      return;
    } finally {
      results.removeAttribute("aria-busy");
    }
    running = false;
    searchNow();
  };

  const shade = () => {
    const after = form.elements.after.value;
    const before = form.elements.before.value;
    for (const bar of $$("[data-histogram] g")) {
      const out = (after && bar.dataset.last < after) || (before && bar.dataset.first > before);
      bar.classList.toggle("out", Boolean(out));
    }
  };

  if (form) {
    form.addEventListener("input", searchNow);
    form.addEventListener("change", searchNow);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      history.pushState(null, "", addressOf(fieldsOf()));
      shown = "";
      searchNow();
      const first = $(".hit", results);
      if (first && document.activeElement === form.elements.q) first.focus();
    });
    results.addEventListener("click", async (event) => {
      const more = event.target.closest("a.more");
      if (!more || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const held = document.createElement("div");
      held.innerHTML = policy.createHTML(await part(more.href));
      const next = $$(".hits > li", held);
      const list = $(".hits", results);
      list.append(...next);
      const further = $("a.more", held);
      if (further) more.href = further.href;
      else more.remove();
      next[0]?.querySelector("a")?.focus();
    });
    addEventListener("popstate", () => location.reload());
  }

  // --- a period dragged over the chart

  const chart = $("[data-histogram]");
  if (chart && form) {
    let from = null;
    const barAt = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("g[data-first]");
    const over = (bars) => $$("g", chart).forEach((bar) => bar.classList.toggle("over", bars.includes(bar)));
    const between = (one, two) => {
      const bars = $$("g", chart);
      const [low, high] = [bars.indexOf(one), bars.indexOf(two)].sort((a, b) => a - b);
      return bars.slice(low, high + 1);
    };
    chart.addEventListener("pointerdown", (event) => {
      from = barAt(event);
      if (from) event.preventDefault();
    });
    chart.addEventListener("pointermove", (event) => {
      const to = barAt(event);
      if (from && to) over(between(from, to));
    });
    addEventListener("pointerup", (event) => {
      if (!from) return;
      const chosen = between(from, barAt(event) || from);
      from = null;
      over([]);
      form.elements.after.value = chosen[0].dataset.first;
      form.elements.before.value = chosen.at(-1).dataset.last;
      searchNow();
    });
    // The links of the bars are for who has no pointer, or no script.
    chart.addEventListener("click", (event) => {
      if (event.detail) event.preventDefault();
    });
    chart.addEventListener("dragstart", (event) => event.preventDefault());
  }

  // --- keys

  const typing = (element) => element?.matches?.("input:not([type=checkbox]), textarea, select");
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const field = $("#q");
    const active = document.activeElement;
    if (event.key === "/" && !typing(active)) {
      event.preventDefault();
      if (field) field.select(), field.focus();
      else location.href = $("nav a").href;
      return;
    }
    if (event.key === "Escape") {
      if (field && active !== field) field.focus();
      else if (!field) $("a.back")?.click();
      return;
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const hits = $$(".hit");
    const at = hits.indexOf(active);
    if (!hits.length || (at < 0 && active !== field && active !== document.body)) return;
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    if (next >= hits.length) return;
    event.preventDefault();
    if (next < 0) field?.focus();
    else hits[next].focus();
  });

  // --- a window that moves over a conversation

  const list = $("#messages");
  // So many messages are in the page at once, however many are scrolled over.
  const MOST = 160;
  if (list) {
    const anchor = list.dataset.anchor && document.getElementById(`m${list.dataset.anchor}`);
    if (anchor) {
      for (let each = anchor; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
      anchor.scrollIntoView({ block: "center" });
    }
    let loading = false;
    const template = { earlier: null, later: null };
    const edgeOf = (side) => $(`a[data-side=${side}]`, list);
    const remember = () => {
      for (const side of ["earlier", "later"]) {
        const edge = edgeOf(side);
        if (edge) template[side] = edge.closest("li").cloneNode(true);
      }
    };
    // An edge where messages were taken away leads to them again.
    const newEdge = (side) => {
      let made = template[side];
      if (!made) {
        const other = template[side === "earlier" ? "later" : "earlier"];
        if (!other) return null;
        made = other.cloneNode(true);
        const words = $("a", made);
        words.dataset.side = side;
        words.textContent = side === "earlier" ? "↑" : "↓";
        template[side] = made;
      }
      const edge = made.cloneNode(true);
      const messages = $$(".message", list);
      const end = side === "earlier" ? messages[0] : messages.at(-1);
      const link = $("a", edge);
      const id = side === "earlier" ? end.dataset.first : end.dataset.last;
      for (const [name, address] of [["href", link.href], ["data-part", link.dataset.part]]) {
        const url = new URL(address, location.href);
        if (name === "href") url.searchParams.set("at", id);
        else {
          url.searchParams.set("side", side);
          url.searchParams.set("edge", id);
          const n = side === "earlier" ? end.dataset.n : end.dataset.nLast;
          if (n) url.searchParams.set("n", n);
        }
        link.setAttribute(name, url.pathname + url.search);
      }
      return edge;
    };
    const load = async (side) => {
      const edge = edgeOf(side);
      if (!edge || loading) return;
      loading = true;
      try {
        const held = document.createElement("ol");
        held.innerHTML = policy.createHTML(await part(edge.dataset.part));
        // What is read stays where it is.
        const fixed = $$(".message", list).find((each) => each.getBoundingClientRect().bottom > 0);
        const before = fixed ? fixed.getBoundingClientRect().top : 0;
        remember();
        edge.closest("li").remove();
        if (side === "later") list.append(...held.children);
        else list.prepend(...held.children);
        remember();
        const messages = $$(".message", list);
        const spare = messages.length - MOST;
        if (spare > 0) {
          const other = side === "later" ? "earlier" : "later";
          const gone = (side === "later" ? messages.slice(0, spare) : messages.slice(-spare)).filter(
            (each) => each !== fixed,
          );
          edgeOf(other)?.closest("li").remove();
          gone.forEach((each) => each.remove());
          const made = newEdge(other);
          if (made) other === "earlier" ? list.prepend(made) : list.append(made);
        }
        if (fixed?.isConnected) scrollBy(0, fixed.getBoundingClientRect().top - before);
        watch();
      } finally {
        loading = false;
      }
    };
    const watcher = new IntersectionObserver(
      (entries) => entries.forEach((each) => each.isIntersecting && load(each.target.dataset.side)),
      { rootMargin: "600px" },
    );
    const watch = () => {
      watcher.disconnect();
      $$("a[data-side]", list).forEach((each) => watcher.observe(each));
    };
    watch();
    list.addEventListener("click", (event) => {
      const edge = event.target.closest("a[data-side]");
      if (!edge) return;
      event.preventDefault();
      load(edge.dataset.side);
    });
  }

  // --- links to copy

  addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-copied]");
    if (!link || !navigator.clipboard) return;
    event.preventDefault();
    await navigator.clipboard.writeText(link.href);
    const words = link.textContent;
    link.textContent = link.dataset.copied;
    setTimeout(() => (link.textContent = words), 1500);
  });

  // --- indexes that are being built

  const indexes = $("#indexes");
  const follow = async () => {
    if (!$("[data-refresh='1']", indexes)) return;
    try {
      indexes.innerHTML = policy.createHTML(await part(indexes.dataset.part));
    } catch {
      return;
    }
    setTimeout(follow, 2000);
  };
  if (indexes) setTimeout(follow, 2000);
})();
