/** Digits of ids and secrets in ascending character order: texts sort as their numbers do. */
export const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
