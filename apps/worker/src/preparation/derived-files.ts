/** The files that the sandbox derives from the source of an avatar. */

/** Paths of pictures, in the order in which the child writes them. */
type Pictures = { normalized: string; thumb: string; animated: string };

/** The pictures, and the mesh of the face: see `encodeMesh`. */
export type DerivedFiles = Pictures & { mesh: string };

/** The paths of the pictures that are derived from a source at `path`. */
export const derivedFiles = (path: string): Pictures => ({
  normalized: `${path}-normalized`,
  thumb: `${path}-thumb`,
  animated: `${path}-animated`,
});
