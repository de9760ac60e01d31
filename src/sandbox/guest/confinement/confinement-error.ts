/** Why a guest is not confined, in words that complete "User code cannot run: …". */
export class ConfinementError extends Error {
  override readonly name = "Unconfined";
}
