// The plan beside the editor: asked for by its button, of the text as it stands. Plans at other
// epsilons take seconds each, so they come one by one, and can be cancelled.

const text = document.getElementById("text");
const form = document.getElementById("plan-form");
const plan = document.getElementById("plan");
const others = document.getElementById("others");
const slider = document.getElementById("epsilon");
const progress = document.getElementById("progress");
const cancel = document.getElementById("cancel");
const rows = others.querySelector("tbody");
const needs = document.getElementById("needs");
const draw = document.getElementById("draw");
const frontier = document.getElementById("frontier");
let asking = null; // what can be cancelled
let planned = ""; // the text of the plan that is shown

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const epsilons = document.getElementById("epsilons").value.split(",").map((one) => one.trim()).filter(Boolean);
  showPlan(epsilons);
});

async function showPlan(epsilons) {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  plan.setAttribute("aria-busy", "true");
  others.hidden = needs.hidden = true;
  say("Planning …");
  try {
    const reply = await ask("/specs/plan", { text: text.value, name: text.dataset.name }, signal);
    if (reply.ok) {
      plan.innerHTML = await reply.text(); // made by the desk, every value escaped
      plan.removeAttribute("aria-busy");
      planned = text.value;
      needs.hidden = !plan.querySelector("[data-needs]");
      frontier.replaceChildren();
      await compare(text.value, epsilons, signal);
    } else say((await reply.json()).detail, "bad told");
  } catch {
    if (signal.aborted) return;
    say("The desk does not answer; your text is still here.", "bad");
  } finally {
    if (!signal.aborted) plan.removeAttribute("aria-busy");
  }
}

async function compare(said, epsilons, signal) {
  rows.replaceChildren();
  others.hidden = epsilons.length === 0;
  cancel.hidden = false;
  for (const [done, epsilon] of epsilons.entries()) {
    progress.textContent = `Planning at ε ${epsilon} (${done + 1} of ${epsilons.length}) …`;
    const reply = await ask("/specs/alternative", { text: said, epsilon }, signal);
    if (!reply.ok) {
      progress.textContent = (await reply.json()).detail;
      break;
    }
    const row = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("tr");
    const after = [...rows.children].find((one) => Number(one.dataset.epsilon) > Number(row.dataset.epsilon));
    rows.insertBefore(row, after ?? null);
    others.querySelector("[data-needs]").hidden = !row.querySelector('[data-name="Needs met"]');
    slider.max = rows.children.length - 1;
    show();
    if (done + 1 === epsilons.length) progress.textContent = "";
  }
  cancel.hidden = true;
}

cancel.addEventListener("click", () => {
  asking?.abort();
  cancel.hidden = true;
  progress.textContent = "Cancelled.";
});
slider.addEventListener("input", show);

draw.addEventListener("click", async () => {
  draw.disabled = true;
  frontier.textContent = "Planning …";
  try {
    const reply = await ask("/specs/frontier", { text: planned }, null);
    if (reply.ok) frontier.innerHTML = await reply.text(); // made by the desk, every value escaped
    else frontier.textContent = (await reply.json()).detail;
  } catch {
    frontier.textContent = "The desk does not answer; your text is still here.";
  } finally {
    draw.disabled = false;
  }
});

function show() {
  const shown = rows.children[slider.value];
  for (const row of rows.children) row.classList.toggle("chosen", row === shown);
  const told = [...shown.children].map((cell) => `${cell.dataset.name}: ${cell.textContent.trim()}`).join("; ");
  slider.setAttribute("aria-valuetext", `ε ${shown.dataset.epsilon}`);
  document.getElementById("at-epsilon").textContent = told;
}

function ask(address, body, signal) {
  return fetch(address, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-CSRF": document.querySelector("meta[name=csrf]").content,
    },
    body: JSON.stringify(body),
    signal,
  });
}

form.querySelector("button").disabled = false;
if ("now" in form.dataset) { // for whoever comes from the last question
  document.getElementById("plan-heading").focus();
  showPlan([]);
}

function say(words, kind = "hint") {
  const line = document.createElement("p");
  line.className = kind;
  line.textContent = words;
  plan.replaceChildren(line);
}
