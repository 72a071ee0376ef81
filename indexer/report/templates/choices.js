"use strict";
// What somebody has chosen, by keys, and what this browser remembers of it from one visit to the next.
class Choices {
  constructor(place) {
    this.place = place;
    this.remembered = true;
    this.made = new Map();
    try {
      this.made = new Map(JSON.parse(localStorage.getItem(place) || "[]"));
    } catch (error) {
      this.remembered = false;
    }
  }

  remember() {
    try {
      localStorage.setItem(this.place, JSON.stringify(Array.from(this.made)));
    } catch (error) {
      this.remembered = false;
    }
  }

  get warning() {
    return this.remembered ? "" : "; this browser remembers nothing, so save before you close the page";
  }
}

function saveAs(name, held) {
  const text = JSON.stringify(held, null, 1) + "\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
