// Shows single queries. Data come as JSON from script elements of the page; every text goes into a text node, so that
// none is read as markup. For each run: {kind, metrics, attacks, defences, of, queries: [{id, q, a, w, g, p}],
// passages: [[id, title, text, planted, changed]], conditions: [{a, d, lines}]}; a line is
// [metric values, places of passages, scores, other fields of the log], or null.
"use strict";
(function () {
  const PAGE = 150;

  function element(name, className, ...children) {
    const out = document.createElement(name);
    if (className) out.className = className;
    for (const child of children) {
      if (child === null || child === undefined) continue;
      out.append(typeof child === "object" ? child : String(child));
    }
    return out;
  }

  // Characters that show nothing, or reorder what is shown, are shown by their number.
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]|[\u{e0000}-\u{e0fff}]/u;
  function plain(text) {
    const out = document.createDocumentFragment();
    let run = "";
    for (const character of text) {
      if (!HIDDEN.test(character)) {
        run += character;
        continue;
      }
      out.append(run);
      run = "";
      out.append(element("span", "control-character", "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")));
    }
    out.append(run);
    return out;
  }

  // Spans are [begin, end, class] in code points; the first that covers a character wins.
  function marked(text, spans) {
    if (!spans.length) return plain(text);
    const characters = Array.from(text);
    const kinds = new Array(characters.length).fill("");
    for (const [begin, end, kind] of spans) {
      for (let i = begin; i < Math.min(end, characters.length); ++i) kinds[i] = kinds[i] || kind;
    }
    const out = document.createDocumentFragment();
    for (let i = 0; i < characters.length;) {
      let end = i;
      while (end < characters.length && kinds[end] === kinds[i]) ++end;
      const piece = plain(characters.slice(i, end).join(""));
      out.append(kinds[i] ? element("mark", kinds[i], piece) : piece);
      i = end;
    }
    return out;
  }

  function pair(span) {
    return Array.isArray(span) ? span : [span.begin, span.end];
  }

  function number(value) {
    if (value === null || value === undefined) return "–";
    return Number.isInteger(value) ? String(value) : value.toFixed(3);
  }

  function option(text, value) {
    const out = element("option", "", text);
    out.value = value;
    return out;
  }

  function control(label, input) {
    return element("label", "", label, input);
  }

  function verdictLine(verdict) {
    const out = element("div", "verdict", element("b", "", (verdict.stage || "") + ": " + (verdict.decision || "")));
    if (verdict.reason) out.append(" – ", plain(verdict.reason));
    const figures = [];
    if (typeof verdict.score === "number") figures.push("score " + number(verdict.score));
    if (typeof verdict.threshold === "number") figures.push("threshold " + number(verdict.threshold));
    for (const [name, value] of Object.entries(verdict.measures || {})) figures.push(name + " " + number(value));
    if (figures.length) out.append(" (" + figures.join(", ") + ")");
    return out;
  }

  class Browser {
    constructor(root, data) {
      this.data = data;
      this.shown = PAGE;
      this.current = 0;
      this.build(root);
      this.refresh();
    }

    build(root) {
      const data = this.data;
      this.search = document.createElement("input");
      this.search.type = "search";
      this.search.placeholder = "words of the question, or an id";
      this.attack = document.createElement("select");
      data.attacks.forEach((name, i) => this.attack.append(option(name, i)));
      this.attack.value = data.attacks.length > 1 ? 1 : 0;
      this.defence = document.createElement("select");
      data.defences.forEach((name, i) => this.defence.append(option(name, i)));
      this.defence.value = data.defences.length > 1 ? 1 : 0;
      this.filter = document.createElement("select");
      this.filter.append(option("all queries", "all"));
      data.metrics.forEach((name, i) => {
        this.filter.append(option(name + " fell by the defence", "-" + i), option(name + " rose by the defence", "+" + i));
      });
      this.list = element("div", "list");
      this.detail = element("div", "detail");
      const answers = data.kind === "answers";
      root.append(
        element("div", "controls", control("attack", this.attack), control(answers ? "method" : "defence", this.defence),
          control("which", this.filter), control("search", this.search)),
        element("div", "browser", this.list, this.detail));
      for (const input of [this.attack, this.defence, this.filter]) input.addEventListener("change", () => this.refresh());
      this.search.addEventListener("input", () => this.refresh());
    }

    line(attack, defence, query) {
      const condition = this.data.conditions.find((each) => each.a === attack && each.d === defence);
      return condition ? condition.lines[query] : null;
    }

    passes(query) {
      const words = this.search.value.trim().toLowerCase();
      const entry = this.data.queries[query];
      if (words && !((entry.q || "") + " " + entry.id).toLowerCase().includes(words)) return false;
      if (this.filter.value === "all") return true;
      const metric = Number(this.filter.value.slice(1));
      const before = this.line(Number(this.attack.value), 0, query);
      const after = this.line(Number(this.attack.value), Number(this.defence.value), query);
      if (!before || !after || before[0][metric] === null || after[0][metric] === null) return false;
      const change = after[0][metric] - before[0][metric];
      return this.filter.value[0] === "-" ? change < 0 : change > 0;
    }

    refresh() {
      this.shown = PAGE;
      this.matching = this.data.queries.map((_, i) => i).filter((i) => this.passes(i));
      if (!this.matching.includes(this.current)) this.current = this.matching.length ? this.matching[0] : -1;
      this.showList();
      this.showDetail();
    }

    showList() {
      const data = this.data;
      this.list.replaceChildren();
      const all = data.queries.length === data.of ? "" : ", of " + data.of + " in the logs (those on which conditions differ come first)";
      this.list.append(element("p", "", this.matching.length + " of " + data.queries.length + " queries" + all));
      for (const query of this.matching.slice(0, this.shown)) {
        const entry = data.queries[query];
        const line = this.line(Number(this.attack.value), Number(this.defence.value), query);
        const tags = line ? data.metrics.map((name, i) => name + " " + number(line[0][i])).slice(0, 3).join(" · ") : "";
        const button = element("button", "", plain(entry.q || entry.id), element("div", "tags", tags));
        button.type = "button";
        button.setAttribute("aria-current", String(query === this.current));
        button.addEventListener("click", () => {
          this.current = query;
          for (const other of this.list.querySelectorAll("button")) other.setAttribute("aria-current", String(other === button));
          this.showDetail();
        });
        this.list.append(button);
      }
      if (this.matching.length > this.shown) {
        const more = element("button", "", "show more");
        more.type = "button";
        more.addEventListener("click", () => {
          this.shown += PAGE;
          this.showList();
        });
        this.list.append(more);
      }
    }

    showDetail() {
      const data = this.data;
      this.detail.replaceChildren();
      if (this.current < 0) {
        this.detail.append(element("p", "hint", "No query passes this filter."));
        return;
      }
      const entry = data.queries[this.current];
      const attack = Number(this.attack.value);
      const defence = Number(this.defence.value);
      this.detail.append(element("p", "question", plain(entry.q || entry.id)));
      const answers = element("p", "answers");
      if (entry.a) answers.append("right: ", plain(entry.a.join(" | ")));
      if (entry.w) answers.append(" · the attacker wants: ", plain(entry.w));
      answers.append(" · id ", plain(entry.id));
      this.detail.append(answers, this.metricTable(attack, defence));
      const before = this.line(attack, 0, this.current);
      const after = this.line(attack, defence, this.current);
      const columns = element("div", "before-after");
      columns.append(this.column("Before: " + data.defences[0], before, entry));
      if (defence !== 0) columns.append(this.column("After: " + data.defences[defence], after, entry));
      this.detail.append(columns);
      if (entry.p) {
        const passages = element("details", "", element("summary", "", entry.p.length + " passages that came with the question"));
        const list = element("ol", "hits");
        entry.p.forEach((place, i) => list.append(this.hit(place, i + 1, null, entry, [])));
        passages.append(list);
        this.detail.append(passages);
      }
    }

    metricTable(attack, defence) {
      const data = this.data;
      const head = element("tr", "", element("th", "", data.kind === "answers" ? "method" : "defence"));
      for (const name of data.metrics) head.append(element("th", "", name));
      const body = element("tbody", "");
      data.defences.forEach((name, d) => {
        const line = this.line(attack, d, this.current);
        const row = element("tr", d === defence ? "chosen" : "", element("th", "", name));
        data.metrics.forEach((_, m) => row.append(element("td", "number", line ? number(line[0][m]) : "–")));
        body.append(row);
      });
      return element("div", "scroll", element("table", "small-table", element("thead", "", head), body));
    }

    column(title, line, entry) {
      const out = element("div", "", element("h4", "", title));
      if (!line) {
        out.append(element("p", "hint", "Not in the log."));
        return out;
      }
      const rest = line[3] || {};
      if (rest.error) out.append(element("p", "alarm", plain("failed: " + rest.error)));
      if (typeof rest.judge === "string") out.append(element("p", "hint", "the judge says: ", plain(rest.judge)));
      if (typeof rest.answer === "string") out.append(element("pre", "", plain(rest.answer || "(empty)")));
      const verdicts = rest.verdicts || [];
      const list = element("ol", "hits");
      line[1].forEach((place, i) => list.append(this.hit(place, i + 1, line[2][i], entry, verdicts, rest.judged)));
      if (line[1].length) out.append(list);
      const shown = new Set(line[1].map((place) => this.data.passages[place][0]));
      const gone = verdicts.filter((verdict) => !shown.has(verdict.document));
      if (gone.length) {
        const more = element("details", "", element("summary", "", gone.length + " verdicts about passages that are not in this list"));
        for (const verdict of gone) {
          const one = verdictLine(verdict);
          one.prepend(plain(String(verdict.document)), " ");
          more.append(one);
        }
        out.append(more);
      }
      this.others(out, rest);
      return out;
    }

    // Votes, certificates and whatever else the log says about the query.
    others(out, rest) {
      if (Array.isArray(rest.certificates)) {
        for (const each of rest.certificates) {
          out.append(element("div", "verdict", element("b", "", "certificate, " + each.budget + ": " + (each.certified ? "holds" : "none")),
            " τ " + number(each.tau) + (each.reason ? " – " : ""), each.reason ? plain(each.reason) : null));
        }
      }
      if (rest.live) {
        out.append(element("div", "verdict", element("b", "", "live certificate: k' = " + rest.live.k_prime),
          rest.live.limited_by ? plain(" – " + rest.live.limited_by) : null));
      }
      const groups = rest.groups || (rest.generation && rest.generation.groups);
      if (Array.isArray(groups)) {
        const table = element("tbody", "");
        groups.forEach((group, i) => table.append(element("tr", "", element("th", "", "group " + (i + 1)),
          element("td", "", plain(group.vote || group.answer || (group.abstains ? "abstains" : "–"))),
          element("td", "", plain((group.keywords || []).join(", "))))));
        out.append(element("table", "small-table", table));
      }
      const known = ["error", "answer", "verdicts", "certificates", "live", "groups", "judged", "judge", "right", "valid", "declined", "attack_success"];
      const left = Object.entries(rest).filter(([name]) => !known.includes(name));
      if (left.length) {
        const more = element("details", "", element("summary", "", "everything else in the log"));
        more.append(element("pre", "", plain(JSON.stringify(Object.fromEntries(left), null, 1))));
        out.append(more);
      }
    }

    // `judged`: grades by id, where several passages answer.
    hit(place, rank, score, entry, verdicts, judged) {
      const [id, title, text, planted, changed] = this.data.passages[place];
      const gold = judged ? judged[id] > 0 : entry.g === place;
      const own = verdicts.filter((verdict) => verdict.document === id);
      const head = element("div", "head", element("span", "rank", rank + "."), plain(title || id));
      if (gold) head.append(element("span", "badge gold", "✓ answers"));
      if (planted) head.append(element("span", "badge planted", "✗ planted"));
      if (score !== null) head.append(element("span", "score", number(score)));
      const spans = [];
      for (const verdict of own) {
        for (const span of verdict.masked || []) spans.push([...pair(span), "masked"]);
      }
      for (const span of changed || []) spans.push([...pair(span), "changed"]);
      const out = element("li", "hit" + (gold ? " gold" : "") + (planted ? " planted" : ""), head);
      if (text) out.append(element("p", "", marked(text, spans)));
      for (const verdict of own) out.append(verdictLine(verdict));
      return out;
    }
  }

  for (const root of document.querySelectorAll(".drill")) {
    const source = document.querySelector('script.run-data[data-run="' + root.dataset.run + '"]');
    const data = JSON.parse(source.textContent);
    if (!data.queries.length) {
      root.append(element("p", "hint", "Single queries are left out to keep this page small; the logs in queries/ hold them."));
      continue;
    }
    new Browser(root, data);
  }
})();
