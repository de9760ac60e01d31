/**
 * Digits of ids and secrets, in ascending character order, so that numbers written with them sort
 * as text.
 */
export const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
