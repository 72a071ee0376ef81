"use strict";
(function () {
  const held = document.getElementById("sample-data");
  if (!held) return;
  const data = JSON.parse(held.textContent);
  const place = "neardup judgments of " + data.seed;
  const section = document.getElementById("sample-section");
  const status = document.getElementById("sample-status");
  const cards = data.pairs.map((_, number) => document.getElementById("sample-" + number));
  const buttons = Array.from(section.querySelectorAll("button[data-choice]"));
  const choices = new Choices(place);
  const said = choices.made;
  // A judgment is of two texts, in whatever report they are shown.
  const key = (pair) => pair.documents.map((one) => one.digest + one.id).join(" ");
  const can = (pair) => pair.documents.every((one) => one.digest);
  // Whoever goes on later begins where they ended.
  let at = Math.max(0, data.pairs.findIndex((pair) => !said.has(key(pair))));

  function draw() {
    cards.forEach((card, number) => { card.hidden = number !== at; });
    const pair = data.pairs[at];
    for (const button of buttons) {
      button.disabled = !can(pair) && button.dataset.choice !== "";
      button.setAttribute("aria-pressed", String(button.dataset.choice === (said.get(key(pair)) || "none")));
    }
    const done = data.pairs.filter((each) => said.has(key(each))).length;
    status.textContent = "Pair " + (at + 1) + " of " + data.pairs.length + "; " + done + " judged"
      + (can(pair) ? "" : "; this one has no digest of its text, index it again to judge it")
      + choices.warning;
    document.getElementById("sample-save").disabled = !done;
  }

  function turn(to) {
    at = Math.min(Math.max(to, 0), data.pairs.length - 1);
    draw();
  }

  function choose(choice) {
    const pair = data.pairs[at];
    if (!can(pair) && choice) return;
    if (choice) said.set(key(pair), choice);
    else said.delete(key(pair));
    choices.remember();
    turn(at + 1);
  }

  for (const button of buttons) button.addEventListener("click", () => choose(button.dataset.choice));
  document.getElementById("sample-before").addEventListener("click", () => turn(at - 1));
  document.getElementById("sample-next").addEventListener("click", () => turn(at + 1));

  // Keys work where the section has the focus, with nothing else pressed.
  section.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const choice = { s: "keep", n: "apart", x: "" }[event.key.toLowerCase()];
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (choice !== undefined) choose(choice);
    else if (move) turn(at + move);
    else return;
    event.preventDefault();
  });

  document.getElementById("sample-save").addEventListener("click", function () {
    const judged = data.pairs.filter((pair) => said.has(key(pair))).map(function (pair) {
      return { documents: pair.documents.map((one) => ({ id: one.id, digest: one.digest, choice: said.get(key(pair)) })) };
    });
    const sample = { seed: data.seed, size: data.size, judged: judged };
    saveAs("judgments.json", { form: data.form, clusters: [], sample: sample });
  });

  draw();
})();
