"use strict";
(function () {
  const held = document.getElementById("decide-data");
  if (!held) return;
  const data = JSON.parse(held.textContent);
  const PAGE = 20;
  const CHOICES = [["keep", "Keep", "k"], ["drop", "Drop", "d"], ["apart", "Not the same", "n"]];
  const place = "neardup decisions of " + data.store;
  const list = document.getElementById("decide-list");
  const status = document.getElementById("decide-status");
  const filter = document.getElementById("decide-show");
  const search = document.getElementById("decide-search");
  const choices = new Choices(place);
  const chosen = choices.made;
  let page = 0;

  // A choice holds for one text of a document, in whatever cluster it is shown.
  const key = (member) => member.digest + member.id;
  const choice = (member) => chosen.get(key(member));
  const decided = (cluster) => cluster.members.some(choice);
  const leavesNone = (cluster) => cluster.members.some((one) => choice(one) === "drop") && !cluster.members.some((one) => choice(one) === "keep");

  // Kept documents may be forms of each other: each has an entry of its own, with its copies.
  function entries(cluster) {
    const documents = cluster.members.filter(choice);
    const kept = documents.filter((one) => choice(one) === "keep");
    const repeated = (member) => kept.find((one) => one.id === (member.beside || cluster.members[0].id)) || kept[0];
    if (kept.length < 2) return [documents];
    return kept.map((one) => documents.filter((each) => choice(each) === "apart" || one === (choice(each) === "drop" ? repeated(each) : each)));
  }

  function remember() {
    choices.remember();
    tell();
  }

  function tell() {
    const some = data.clusters.filter(decided).length;
    const none = data.clusters.filter(leavesNone).length;
    status.textContent = some + " of " + data.clusters.length + " clusters decided"
      + (none ? "; " + none + " without a document to keep" : "")
      + choices.warning;
    document.getElementById("decide-save").disabled = !some;
  }

  function element(name, text, kind) {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }

  function button(text, act) {
    const made = element("button", text);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  }

  function set(member, value) {
    if (!member.digest) return;
    if (!value || choice(member) === value) chosen.delete(key(member));
    else chosen.set(key(member), value);
  }

  function shown(member, cluster, card) {
    const row = element("li", "", "document");
    row.tabIndex = 0;
    const about = element("div", "", "about");
    const title = element(member.href ? "a" : "span", member.title, "name");
    if (member.href) {
      title.href = member.href;
      title.target = "_blank";
      title.rel = "noopener noreferrer";
    }
    about.append(title);
    if (member.name) about.append(element("span", member.name, "file"));
    about.append(element("span", member.facts, "facts"));
    const buttons = element("div", "", "choices");
    buttons.setAttribute("role", "group");
    buttons.setAttribute("aria-label", "What becomes of " + member.title);
    for (const [value, label] of CHOICES) {
      const made = button(label, function () {
        set(member, value);
        settle(card, cluster);
      });
      made.dataset.choice = value;
      made.disabled = !member.digest;
      buttons.append(made);
    }
    if (!member.digest) buttons.append(element("span", "no digest of its text; index it again to decide", "facts"));
    row.append(about, buttons);
    return row;
  }

  function settle(card, cluster) {
    const rows = card.querySelectorAll("li.document");
    cluster.members.forEach(function (member, at) {
      rows[at].dataset.chosen = choice(member) || "";
      for (const made of rows[at].querySelectorAll("button")) {
        made.setAttribute("aria-pressed", String(made.dataset.choice === choice(member)));
      }
    });
    card.querySelector(".warning").textContent = leavesNone(cluster)
      ? "No document is to be kept: neardup prune drops these with --last-copies alone." : "";
    remember();
  }

  function drawn(cluster, number) {
    const card = element("article", "", "cluster");
    const head = element("div", "", "head");
    head.append(element("h3", cluster.size + " documents: " + cluster.members[0].title));
    const all = element("div", "", "choices");
    function every(values) {
      return function () {
        cluster.members.forEach(function (member, at) {
          chosen.delete(key(member));
          set(member, values(member, at));
        });
        settle(card, cluster);
      };
    }
    all.append(
      button("As proposed", every((member) => member.proposed)),
      button("All are different", every(() => "apart")),
      button("Clear", every(() => "")),
    );
    head.append(all);
    const documents = element("ol");
    for (const member of cluster.members) documents.append(shown(member, cluster, card));
    card.append(head, documents);
    if (cluster.size > cluster.members.length) {
      card.append(element("p", "and " + (cluster.size - cluster.members.length) + " more, which stay; neardup report --members shows more", "soft"));
    }
    card.append(element("p", "", "warning"));
    const difference = document.getElementById("pair-" + cluster.id);
    if (difference) {
      const details = element("details");
      details.append(element("summary", "What differs between the first and the last"));
      details.addEventListener("toggle", function () {
        if (details.open && details.childElementCount === 1) {
          for (const part of difference.children) if (part.tagName !== "H3") details.append(part.cloneNode(true));
        }
      });
      card.append(details);
    }
    settle(card, cluster);
    card.dataset.number = number;
    return card;
  }

  function wanted() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    return data.clusters.filter(function (cluster) {
      if (filter.value === "open" && decided(cluster)) return false;
      if (filter.value === "done" && !decided(cluster)) return false;
      if (filter.value === "none" && !leavesNone(cluster)) return false;
      if (!words.length) return true;
      const text = cluster.members.map((one) => one.title + " " + one.name).join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  function draw() {
    const found = wanted();
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const some = found.slice(page * PAGE, (page + 1) * PAGE);
    list.replaceChildren(...some.map((cluster, at) => drawn(cluster, page * PAGE + at)));
    if (!some.length) list.append(element("p", "No cluster is left to show here.", "soft"));
    for (const pager of document.querySelectorAll(".pager")) {
      pager.replaceChildren();
      if (pages === 1) continue;
      const before = button("Previous", () => turn(-1));
      const next = button("Next", () => turn(1));
      before.disabled = page === 0;
      next.disabled = page === pages - 1;
      pager.append(before, element("span", "Page " + (page + 1) + " of " + pages), next);
    }
    tell();
  }

  function turn(by) {
    page += by;
    draw();
    document.getElementById("decide").scrollIntoView();
  }

  // Keys work on the document that has the focus, with nothing else pressed.
  list.addEventListener("keydown", function (event) {
    const row = event.target.closest("li.document");
    if (!row || event.ctrlKey || event.altKey || event.metaKey) return;
    const rows = Array.from(list.querySelectorAll("li.document"));
    const move = { ArrowDown: 1, j: 1, ArrowUp: -1 }[event.key];
    const found = CHOICES.find(([, , letter]) => letter === event.key.toLowerCase());
    if (move) rows[Math.min(Math.max(rows.indexOf(row) + move, 0), rows.length - 1)].focus();
    else if (found) row.querySelector('button[data-choice="' + found[0] + '"]').click();
    else return;
    event.preventDefault();
  });

  function restart() {
    page = 0;
    draw();
  }
  filter.addEventListener("change", restart);
  search.addEventListener("input", restart);

  document.getElementById("decide-save").addEventListener("click", function () {
    const clusters = data.clusters.filter(decided).flatMap(entries).map((documents) => (
      { documents: documents.map((one) => ({ id: one.id, digest: one.digest, choice: choice(one) })) }
    ));
    saveAs("decisions.json", { form: data.form, clusters: clusters });
  });

  draw();
})();
