/** Texts of the form with the event filter of a destination. */
export const filterTexts = {
  filter: "Event filter",
  explained: "An event matches when it meets all conditions. Others count as dropped.",
  modes: {
    all: "All events of its sources",
    only: "Only events that match",
    except: "All events except those that match",
  },
  condition: (number: number) => `Condition ${number}`,
  fieldHint: "Of the event as received: type, event, properties.plan, context.page.path",
  values: "Values",
  valuesHint:
    "One per line; one of them must be the field's value. A * at the end matches any text.",
  add: "Add a condition",
  remove: "Remove condition",
  save: "Save filter",
  saved: "Filter saved; it applies from the next batch",
};
