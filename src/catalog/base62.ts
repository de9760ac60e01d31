/** The digits of ids and secrets, in the order of their characters: texts sort as numbers do. */
export const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
