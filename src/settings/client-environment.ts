import { homedir } from "node:os";
import { join } from "node:path";

/** Environment variables of commands that are clients of a running server. */
export const clientVariables = [
  "PIXELMILL_SERVER",
  "PIXELMILL_TOKEN",
  "PIXELMILL_TOKEN_FILE",
  "PIXELMILL_PROFILE",
];

/** The environment of a command that is a client of a running server. */
interface ClientEnvironment {
  server: string | undefined;
  token: string | undefined;
  /** Path of a file with the token. */
  tokenFile: string | undefined;
  profile: string | undefined;
  /** Token of RudderStack's API, under the name that rudder-cli reads. */
  rudderStackToken: string | undefined;
  /** Path of the file with the profiles. */
  profilesFile: string;
  /** Whether the user accepts colours (https://no-color.org), and the terminal can show them. */
  allowsColor: boolean;
}

export function clientEnvironment(
  environment: Record<string, string | undefined> = process.env,
): ClientEnvironment {
  const given = (name: string) => environment[name] || undefined;
  const home = given("HOME") ?? homedir();
  const configHome = given("XDG_CONFIG_HOME") ?? join(home, ".config");
  return {
    server: given("PIXELMILL_SERVER"),
    token: given("PIXELMILL_TOKEN"),
    tokenFile: given("PIXELMILL_TOKEN_FILE"),
    profile: given("PIXELMILL_PROFILE"),
    rudderStackToken: given("RUDDERSTACK_ACCESS_TOKEN"),
    profilesFile: join(configHome, "pixelmill", "profiles.toml"),
    allowsColor: given("NO_COLOR") === undefined && environment.TERM !== "dumb",
  };
}
