import { highlightSpecialChars } from "@codemirror/view";
import { specialCharacters } from "./special-characters.ts";

/** Editor extension that shows the code points of characters matching `specialCharacters`. */
export const markSpecialCharacters = highlightSpecialChars({
  specialChars: specialCharacters,
  render: (code) => {
    const mark = document.createElement("span");
    mark.className = "cm-specialChar";
    mark.textContent = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    return mark;
  },
});
