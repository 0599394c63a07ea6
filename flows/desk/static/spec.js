// The plan beside the editor: asked for by its button, of the text as it stands.

const text = document.getElementById("text");
const form = document.getElementById("plan-form");
const plan = document.getElementById("plan");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  plan.setAttribute("aria-busy", "true");
  say("Planning …");
  try {
    const epsilons = document.getElementById("epsilons").value.split(",").map((one) => one.trim()).filter(Boolean);
    const reply = await fetch("/specs/plan", {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-CSRF": document.querySelector("meta[name=csrf]").content,
      },
      body: JSON.stringify({ text: text.value, epsilons }),
    });
    if (reply.ok) plan.innerHTML = await reply.text(); // made by the desk, every value escaped
    else say((await reply.json()).detail, "bad told");
  } catch {
    say("The desk does not answer; your text is still here.", "bad");
  } finally {
    plan.removeAttribute("aria-busy");
  }
});

form.querySelector("button").disabled = false;

function say(words, kind = "hint") {
  const line = document.createElement("p");
  line.className = kind;
  line.textContent = words;
  plan.replaceChildren(line);
}
