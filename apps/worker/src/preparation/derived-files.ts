/** The files that the sandbox derives from the source of an avatar. */

/** Paths of pictures, in the order in which the child writes them. */
type Pictures = { normalized: string; thumb: string; animated: string };

/** The pictures, the mesh of the face (see `encodeMesh`), and the path of the idle loop; null without one. */
export type DerivedFiles = Pictures & { mesh: string; loop: string | null };

/** The paths of the pictures that are derived from a source at `path`. */
export const derivedFiles = (path: string): Pictures => ({
  normalized: `${path}-normalized`,
  thumb: `${path}-thumb`,
  animated: `${path}-animated`,
});
