import { Button } from "../components/button.tsx";
import { Name } from "../components/name.tsx";
import { SearchedNameField } from "../components/name-select.tsx";
import { type SearchedKind, useNameSearch } from "../data/use-name-search.ts";
import { alertsTexts } from "../texts/alerts.ts";
import { commonTexts } from "../texts/common.ts";

/**
 * Form field of an alert rule in which the user chooses items of one kind, such as destinations. If
 * none is chosen, the rule applies to all items of the kind.
 */
export function ChosenItems(props: {
  kind: SearchedKind;
  /** JSON pointer to the list of chosen ids in the request's body. */
  path: string;
  ids: readonly string[];
  onChange: (ids: string[]) => void;
}) {
  const { kind, path, ids, onChange } = props;
  const { title, all, add } = alertsTexts.chosen[kind];
  const names = useNameSearch(kind);
  return (
    <fieldset class="group">
      <legend>{title}</legend>
      {ids.length === 0 && <p class="quiet small">{all}</p>}
      {ids.length > 0 && (
        <ul>
          {ids.map((id) => (
            <li key={id} class="entry">
              <Name cut>{names.nameOf(id)}</Name>
              <Button
                kind="plain"
                compact
                icon="close"
                label={commonTexts.removeNamed(names.nameOf(id))}
                onClick={() => onChange(ids.filter((it) => it !== id))}
              />
            </li>
          ))}
        </ul>
      )}
      <SearchedNameField
        label={add}
        path={path}
        isList
        value=""
        none={commonTexts.selectOne}
        names={names}
        without={new Set(ids)}
        onChange={(id) => id !== "" && onChange([...ids, id])}
      />
    </fieldset>
  );
}
