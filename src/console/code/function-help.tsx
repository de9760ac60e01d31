import { editorLanguage, type Language } from "../code-kinds/code-kind.ts";
import { Dialog } from "../components/dialog.tsx";
import { withCode } from "../components/inline-code.tsx";
import { codeTexts } from "../texts/code.ts";
import {
  entryFunctions,
  metadataFunction,
  metadataKeys,
  providedFunctions,
  type UserCodeFunction,
} from "../texts/user-code-functions.ts";

/** Dialog that lists the functions that code in `language` can export, and those it can call. */
export function FunctionHelp(props: { language: Language; onClose: () => void }) {
  const { language, onClose } = props;
  return (
    <Dialog title={codeTexts.functions} onClose={onClose} broad>
      <h3>{codeTexts.entryFunctions}</h3>
      <FunctionList functions={entryFunctions} language={language} />
      <h3>{codeTexts.providedFunctions}</h3>
      <FunctionList functions={[metadataFunction, ...providedFunctions]} language={language} />
      <h3>{codeTexts.metadataKeys}</h3>
      <p>
        {metadataKeys.map((key) => (
          <>
            <code>{key}</code>{" "}
          </>
        ))}
      </p>
      <p>
        <a href="/docs/guide/user-code" target="_blank" rel="noreferrer">
          {codeTexts.userCodeGuide}
        </a>
      </p>
    </Dialog>
  );
}

function FunctionList(props: { functions: readonly UserCodeFunction[]; language: Language }) {
  const language = editorLanguage(props.language);
  return (
    <dl class="functions">
      {props.functions.map(({ name, signatures, meaning }) => {
        const signature = signatures[language];
        return (
          signature && (
            <div key={name}>
              <dt>
                <code>{signature}</code>
              </dt>
              <dd>{withCode(meaning)}</dd>
            </div>
          )
        );
      })}
    </dl>
  );
}
