import { fileVariable } from "../../../src/settings/files/secret-files.ts";
import {
  environmentName,
  flagName,
  isReloadable,
  isSecret,
  keys,
  schemas,
} from "../../../src/settings/keys.ts";
import { table } from "./table.ts";

export function settingsPage(): string {
  const rows = keys.map((key) => {
    const schema = schemas[key];
    const fallback = Array.isArray(schema.default) ? "" : String(schema.default ?? "");
    const names = [
      environmentName(key),
      ...(isSecret(key) ? [fileVariable(key)] : []),
      `--${flagName(key)}`,
    ];
    return [
      `\`${key}\``,
      names.map((name) => `\`${name}\``).join(", "),
      fallback && `\`${fallback}\``,
      isReloadable(key) ? "reload" : "restart",
      `${schema.description}${rangeOf(schema)}`,
    ];
  });
  return `# Settings

Flags win over the environment, the environment over the file \`pixelmill.toml\` (or \`--config FILE\`). An unknown key or a
bad value stops the start. \`--request-ip=false\` turns off what is on; \`--sandbox-insecure\` alone means \`=true\`. A
variable that ends with \`_FILE\` is the path of a file with the secret. A new value is in force after \`pixelmill reload\` or
SIGHUP, or takes a restart. [Operating](../operating.md#settings) has more.

${table(["key", "environment, flag", "default", "new value", "meaning"], rows)}`;
}

/** The bounds of a number, such as " (6 to 300)"; nothing for other settings. */
function rangeOf(schema: object): string {
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number };
  if (maximum !== undefined) return ` (${minimum ?? 0} to ${maximum})`;
  return minimum === undefined ? "" : ` (at least ${minimum})`;
}
