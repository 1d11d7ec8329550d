/** How often the lists of people are read again: another person can have joined, left or signed in. */
export const REFRESH_MS = 5000;
