/**
 * Digits of ids and secrets, in ascending character order. Numbers written in equally many of these
 * digits therefore sort as text.
 */
export const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
