/** Reports why a guest is not confined. The message is the end of "User code cannot run: …". */
export class ConfinementError extends Error {
  override readonly name = "Unconfined";
}
