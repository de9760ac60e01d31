import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/**
 * CodeMirror theme with the console's colours. The CSS custom properties of the page also apply
 * inside the editor's shadow root.
 */
const editorTheme = EditorView.theme({
  "&": {
    color: "var(--text)",
    backgroundColor: "var(--surface)",
    fontSize: "13px",
    minHeight: "inherit",
    height: "100%",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { flexGrow: "1", fontFamily: "var(--mono)", lineHeight: "20px" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--sunken)",
    color: "var(--quiet)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { background: "light-dark(#c9c6fb, #3c3a86)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)", outline: "none" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    boxShadow: "var(--shadow-high)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent-fill)",
    color: "#fff",
  },
  ".cm-completionDetail": { color: "inherit", fontStyle: "normal", opacity: "0.8" },
  ".cm-diagnostic": { fontFamily: "var(--mono)", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-specialChar": {
    margin: "0 1px",
    padding: "0 3px",
    borderRadius: "3px",
    backgroundColor: "var(--bad-soft)",
    color: "var(--bad)",
    unicodeBidi: "isolate",
  },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panel.cm-search label, .cm-panel button, .cm-panel input": { color: "var(--text)" },
  ".cm-panel .cm-textfield, .cm-panel .cm-button": {
    border: "1px solid var(--line)",
    background: "var(--surface)",
    lineHeight: "normal",
  },
  ".cm-searchMatch": { backgroundColor: "light-dark(#ffe9a8, #5c4a00)" },
  ".cm-searchMatch.cm-searchMatch-selected": { outline: "2px solid var(--accent)" },
  ".cm-log": {
    marginLeft: "24px",
    padding: "0 6px",
    borderRadius: "4px",
    backgroundColor: "var(--accent-soft)",
    color: "var(--accent)",
    whiteSpace: "pre",
  },
  ".cm-fault": {
    display: "block",
    padding: "2px 8px 2px 24px",
    backgroundColor: "var(--bad-soft)",
    color: "var(--bad)",
    whiteSpace: "pre-wrap",
    overflowWrap: "anywhere",
  },
  ".cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--good-soft) !important" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk, .cm-deletedLine": {
    backgroundColor: "var(--bad-soft) !important",
  },
  // The default background leaves too little contrast.
  "&.cm-merge-b .cm-deletedText": {
    background: "none",
    textDecoration: "underline 2px var(--bad)",
  },
  ".cm-collapsedLines": { background: "var(--sunken)", color: "var(--quiet)" },
  // Most systems have no font with the default symbols.
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: '""' },
});

const syntaxColours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier], color: "light-dark(#8025a8, #dba6ff)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--warn)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName)],
    color: "var(--accent)",
  },
  { tag: [tags.definition(tags.variableName), tags.className], color: "var(--text)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

export const theme = [editorTheme, syntaxHighlighting(syntaxColours)];
