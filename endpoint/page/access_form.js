// Where a person enters the token, and takes it back.

import { heldToken, keepToken, onRefused } from "./http/access.js";
import { setText } from "./dom.js";

export class AccessForm {
  #form;
  #input;
  #words;
  #forget;

  /** @param {HTMLFormElement} form @param {() => void} onChange hears that another token is sent from now on */
  constructor(form, onChange) {
    this.#form = form;
    this.#input = form.querySelector("input");
    this.#words = form.querySelector("p");
    this.#forget = form.querySelector("button[type=button]");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const kept = keepToken(this.#input.value.trim());
      this.#show(kept ? "A token is sent." : "This cannot be a token: it has characters that none has.");
      if (!kept) return;
      this.#input.value = "";
      onChange();
    });
    this.#forget.addEventListener("click", () => {
      keepToken("");
      this.#show("The token is forgotten.");
      onChange();
    });
    onRefused((words) => this.#show(words));
    if (heldToken() !== "") this.#show("A token is sent.");
  }

  #show(words) {
    setText(this.#words, words);
    this.#forget.hidden = heldToken() === "";
    this.#form.hidden = false;
  }
}
