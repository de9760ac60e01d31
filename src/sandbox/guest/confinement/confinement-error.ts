/**
 * Reports why a guest process, which runs user code, is not confined. The message is the end of the
 * sentence "User code cannot run: …".
 */
export class ConfinementError extends Error {
  override readonly name = "Unconfined";
}
