// Finds entries of a list, and shows the answers that a page has at hand. It asks nobody anything.
"use strict";

(() => {
  const at = (id) => document.getElementById(id);
  const made = (name, text = "", kind = "") => {
    const element = document.createElement(name);
    element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  for (const element of document.querySelectorAll(".needs-script")) element.hidden = false;
  for (const element of document.querySelectorAll(".without-script")) element.hidden = true;

  const find = at("find");
  if (find) {
    const entries = [...document.querySelectorAll("[data-words]")];
    const kind = at("kind");
    const found = at("found");
    const look = () => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const entry of entries) {
        const fits = words.every((word) => entry.dataset.words.includes(word));
        entry.hidden = !fits || Boolean(kind && kind.value && kind.value !== entry.dataset.kind);
        shown += entry.hidden ? 0 : 1;
      }
      const what = entries.length === 1 ? found.dataset.one : found.dataset.many;
      found.textContent = `${shown} of ${entries.length} ${what}`;
    };
    find.addEventListener("input", look);
    if (kind) kind.addEventListener("change", look);
    find.form.addEventListener("submit", (event) => event.preventDefault());
    look();
  }

  if (!at("told")) return;
  const told = JSON.parse(at("told").textContent);
  const tables = new Map(told.tables.map((one) => [one.by.join(), one]));
  const notTold = new Set(told.notTold.map((by) => by.join()));
  const first = at("first");
  const second = at("second");

  // As `hallmark query` prints them.
  const number = (value) => {
    if (value === null) return "unknown";
    if (Math.abs(value) >= 1000) return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
    return String(Number(value.toPrecision(4)));
  };
  const interval = ([, low, high]) =>
    low === null || high === null ? "–" : `${number(low)} to ${number(high)}`;
  const misleads = ([, low, high, records]) =>
    records !== null && low !== null && high !== null && (records < low || records > high);

  const band = ([estimate, low, high, records], reach) => {
    const space = "http://www.w3.org/2000/svg";
    const drawn = document.createElementNS(space, "svg");
    drawn.setAttribute("viewBox", "0 0 200 14");
    drawn.setAttribute("aria-hidden", "true");
    const x = (value) => (200 * Math.min(Math.max(value, 0), reach)) / reach;
    const box = (left, width, top, height, kind) => {
      const shape = document.createElementNS(space, "rect");
      const places = { x: left, y: top, width: Math.max(width, 0.8), height };
      for (const name in places) shape.setAttribute(name, places[name]);
      shape.setAttribute("class", kind);
      drawn.append(shape);
    };
    if (records !== null) box(0, x(records), 2, 10, "bar");
    if (low !== null && high !== null) box(x(low), x(high) - x(low), 3, 8, "band");
    if (estimate !== null) {
      const mark = document.createElementNS(space, "line");
      const places = { x1: x(estimate), x2: x(estimate), y1: 0, y2: 14, class: "measured" };
      for (const name in places) mark.setAttribute(name, places[name]);
      drawn.append(mark);
    }
    return drawn;
  };

  const chosen = () => [first, second].map((one) => one.value).filter(Boolean).map(Number)
    .sort((one, other) => one - other);
  const ticked = (column) => new Set(
    [...document.querySelectorAll(`#only input[data-column="${column}"]:checked`)]
      .map((box) => Number(box.value)),
  );

  const commands = (by) => {
    const question = `count by ${by.map((column) => told.columns[column].asked).join(", ")}`;
    const quoted = `'${question.replaceAll("'", "'\"'\"'")}'`;
    const asked = { QUOTED: quoted, TEXT: JSON.stringify(question) };
    for (const [name, text] of Object.entries(told.commands)) {
      at(`by-${name}`).textContent = text.replace(/QUOTED|TEXT/, (found) => asked[found]);
    }
  };

  const row = (numbers, labels, reach) => {
    const line = made("tr");
    for (const label of labels) {
      const heading = made("th", label);
      heading.scope = "row";
      line.append(heading);
    }
    line.append(made("td", number(numbers[0])), made("td", interval(numbers)));
    line.append(made("td", numbers[3] === null ? "–" : number(numbers[3]) + (misleads(numbers) ? " *" : "")));
    const drawn = made("td", "", "drawn");
    drawn.append(band(numbers, reach));
    line.append(drawn, made("td", told.bases[numbers[4]]));
    return line;
  };

  const show = () => {
    const by = chosen();
    const table = tables.get(by.join());
    const names = by.map((column) => told.columns[column].name);
    commands(by);
    at("answers").replaceChildren();
    at("notes").replaceChildren();
    if (!table) {
      at("said").textContent = notTold.has(by.join())
        ? `No noisy table tells the counts by ${names.join(" and ")}. ${told.notToldElse}`
        : `The table by ${names.join(" and ")} has no room in this page: ask the command.`;
      return;
    }
    const only = by.map(ticked);
    const width = table.cells[table.cells.length - 1].length;
    const cells = (place) => (by.length === 1 ? [place] : [Math.floor(place / width), place % width]);
    const rows = table.rows
      .map((numbers, place) => [numbers, cells(place)])
      .filter(([, its]) => its.every((cell, part) => !only[part].size || only[part].has(cell)));
    const ends = rows.flatMap(([numbers]) => [numbers[0], numbers[2], numbers[3]]);
    const reach = Math.max(1, ...ends.filter((end) => end !== null));
    const head = made("tr");
    const headings = [...names, "Estimate", `${told.percent} interval`, "In records", "", "Basis"];
    headings.forEach((text, place) => {
      const kind = text === "" ? "drawn" : place < names.length ? "group" : "";
      const heading = made(text === "" ? "td" : "th", text, kind);
      if (text !== "") heading.scope = "col";
      head.append(heading);
    });
    const top = made("thead");
    top.append(head);
    const body = made("tbody");
    for (const [numbers, its] of rows) {
      body.append(row(numbers, its.map((cell, part) => table.cells[part][cell]), reach));
    }
    at("answers").append(top, body);
    at("said").textContent = rows.length === table.rows.length
      ? `${rows.length} groups by ${names.join(" and ")}.`
      : `${rows.length} of ${table.rows.length} groups by ${names.join(" and ")}. ` +
        "No interval here is of their sum: for it, ask the command with a condition.";
    for (const note of table.notes) at("notes").append(made("li", told.notes[note]));
  };

  const offer = () => {
    const by = chosen();
    const table = tables.get(by.join());
    at("only").replaceChildren();
    if (table) {
      by.forEach((column, part) => {
        const folded = made("details");
        folded.append(made("summary", `Only some of ${told.columns[column].name}`));
        const list = made("ul");
        table.cells[part].forEach((label, cell) => {
          const item = made("li");
          const box = made("input");
          box.type = "checkbox";
          box.id = `only-${column}-${cell}`;
          box.value = cell;
          box.dataset.column = column;
          const said = made("label", label);
          said.htmlFor = box.id;
          item.append(box, said);
          list.append(item);
        });
        folded.append(list);
        at("only").append(folded);
      });
    }
    show();
  };

  const others = () => {
    const before = second.value;
    second.replaceChildren(new Option("no other column", ""));
    told.columns.forEach(({ name }, place) => {
      if (String(place) !== first.value) second.append(new Option(name, place));
    });
    second.value = [...second.options].some((one) => one.value === before) ? before : "";
    offer();
  };

  told.columns.forEach(({ name }, place) => first.append(new Option(name, place)));
  first.value = String(told.tables[0].by[0]);
  first.addEventListener("change", others);
  second.addEventListener("change", offer);
  at("only").addEventListener("change", show);
  first.form.addEventListener("submit", (event) => event.preventDefault());
  others();
})();
