import { homedir } from "node:os";
import { join } from "node:path";

/** Environment variables that are read by the commands that act as clients of a running server. */
export const clientVariables = [
  "PIXELMILL_SERVER",
  "PIXELMILL_TOKEN",
  "PIXELMILL_TOKEN_FILE",
  "PIXELMILL_PROFILE",
];

export function clientEnvironment(environment: Record<string, string | undefined> = process.env) {
  const given = (name: string) => environment[name] || undefined;
  const home = given("HOME") ?? homedir();
  const configHome = given("XDG_CONFIG_HOME") ?? join(home, ".config");
  return {
    server: given("PIXELMILL_SERVER"),
    token: given("PIXELMILL_TOKEN"),
    /** Path of a file that holds the API token. */
    tokenFile: given("PIXELMILL_TOKEN_FILE"),
    profile: given("PIXELMILL_PROFILE"),
    /**
     * Token of RudderStack's API, from the environment variable that rudder-cli reads too. A user
     * thus sets it once for rudder-cli and pixelmill.
     */
    rudderStackToken: given("RUDDERSTACK_ACCESS_TOKEN"),
    /**
     * Path of the file with the user's profiles (named connections to servers). `profile` selects
     * one by name.
     */
    profilesFile: join(configHome, "pixelmill", "profiles.toml"),
    /** Whether the user accepts colours (https://no-color.org) and the terminal can show them. */
    allowsColor: given("NO_COLOR") === undefined && environment.TERM !== "dumb",
  };
}
