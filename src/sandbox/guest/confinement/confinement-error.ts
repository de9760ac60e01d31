/** The reason why a guest is not confined, which completes "User code cannot run: …". */
export class ConfinementError extends Error {
  override readonly name = "Unconfined";
}
