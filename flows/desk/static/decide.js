// Sign a decision in the browser: with a passkey, or a private key that is read here and never sent.

import { base64, isPasskey, signedByPasskey } from "./passkey.js";

const form = document.getElementById("decide");
const answer = document.getElementById("answer");
const ahead = Date.parse(form.dataset.now) - performance.now(); // the desk's clock counts, not this one

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  say("Signing …");
  try {
    const signed = await sign(decision(event.submitter.value));
    const reply = await fetch("/decisions", {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-CSRF": document.querySelector("meta[name=csrf]").content,
      },
      body: JSON.stringify(signed),
    });
    const said = await reply.json();
    if (!reply.ok) throw new Error(typeof said.detail === "string" ? said.detail : "the desk did not understand the decision");
    say(outcome(said), "good");
    for (const id of ["reason", "key", "passphrase"]) document.getElementById(id).value = ""; // it was sent
  } catch (error) {
    say(`Not recorded: ${error.message}`, "bad");
  }
});

for (const button of form.querySelectorAll("button")) button.disabled = false;

function say(text, kind = "") {
  answer.textContent = text;
  answer.className = kind;
}

function outcome(said) {
  if (said.rejected) return "Recorded: rejected. The release stops here.";
  if (said.passed) return said.run ? `Recorded. The release continues: run ${said.run}.` : "Recorded. The release can continue.";
  const missing = said.not_recorded ? [...said.missing, `${said.not_recorded} items that are not recorded`] : said.missing;
  return `Recorded. Still missing: ${missing.join(", ")}.`;
}

function decision(choice) {
  const value = (id) => document.getElementById(id).value.trim();
  return {
    ...JSON.parse(form.dataset.content),
    person: value("person"),
    role: choice === "override" ? "override" : value("role"),
    reason: value("reason"),
    decision: choice,
    decided: `${new Date(ahead + performance.now()).toISOString().slice(0, 19)}Z`,
  };
}

// Whoever has a passkey needs no file.
const person = document.getElementById("person");
const registered = () => person.selectedOptions[0]?.dataset.key ?? "";
person.addEventListener("change", askForKey);
askForKey(); // whoever is logged in is chosen already

function askForKey() {
  document.getElementById("passkey").hidden = !isPasskey(registered());
  document.getElementById("key-file").hidden = isPasskey(registered());
  document.getElementById("key").required = !isPasskey(registered());
}

async function sign(said) {
  const content = new TextEncoder().encode(canonical(said));
  if (isPasskey(registered())) return { decision: said, ...(await signedByPasskey(registered(), content)) };
  const { key, publicKey } = await privateKey(
    await document.getElementById("key").files[0].text(),
    document.getElementById("passphrase").value,
  );
  const signature = await crypto.subtle.sign("Ed25519", key, content);
  return { decision: said, key: publicKey, signature: base64(new Uint8Array(signature)) };
}

// The same text as `Decision.canonical_bytes`: sorted keys, no spaces, ASCII only.
function canonical(value) {
  if (value !== null && typeof value === "object") {
    const entries = Object.keys(value).sort().map((name) => `${canonical(name)}:${canonical(value[name])}`);
    return `{${entries.join(",")}}`;
  }
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

async function privateKey(pem, passphrase) {
  if (!crypto.subtle) throw new Error("this page must be opened on this machine or over HTTPS to sign");
  const body = pem.replace(/-----[^-]+-----/g, "").replace(/\s+/g, "");
  let der = Uint8Array.from(atob(body), (character) => character.charCodeAt(0));
  if (pem.includes("ENCRYPTED PRIVATE KEY")) der = await opened(der, passphrase);
  let key;
  try {
    key = await crypto.subtle.importKey("pkcs8", der, "Ed25519", true, ["sign"]);
  } catch {
    throw new Error("the file is not an Ed25519 private key; make one with hallmark approver-key");
  }
  const jwk = await crypto.subtle.exportKey("jwk", key);
  const raw = atob(jwk.x.replace(/-/g, "+").replace(/_/g, "/"));
  return { key, publicKey: btoa(raw) };
}

// PKCS #8 under PBES2 (RFC 8018): PBKDF2 with HMAC-SHA-256, then AES-CBC.
async function opened(der, passphrase) {
  const [algorithm, ciphertext] = children(der, node(der, 0));
  const [derivation, cipher] = children(der, children(der, algorithm)[1]);
  const [salt, iterations] = children(der, children(der, derivation)[1]);
  const iv = children(der, cipher)[1];
  const secret = await crypto.subtle.importKey("raw", new TextEncoder().encode(passphrase), "PBKDF2", false, ["deriveKey"]);
  const key = await crypto.subtle.deriveKey(
    {
      name: "PBKDF2",
      hash: "SHA-256",
      salt: content(der, salt),
      iterations: content(der, iterations).reduce((total, byte) => total * 256 + byte, 0),
    },
    secret,
    { name: "AES-CBC", length: 256 },
    false,
    ["decrypt"],
  );
  try {
    return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-CBC", iv: content(der, iv) }, key, content(der, ciphertext)));
  } catch {
    throw new Error("the passphrase does not open the key");
  }
}

// DER: where the content of the value at `start` begins and ends.
function node(der, start) {
  const first = der[start + 1];
  if (first < 128) return { begin: start + 2, end: start + 2 + first };
  let length = 0;
  const bytes = first & 127;
  for (let i = 0; i < bytes; i++) length = length * 256 + der[start + 2 + i];
  return { begin: start + 2 + bytes, end: start + 2 + bytes + length };
}

function children(der, parent) {
  const found = [];
  for (let at = parent.begin; at < parent.end; at = found.at(-1).end) found.push(node(der, at));
  return found;
}

function content(der, { begin, end }) {
  return der.slice(begin, end);
}
