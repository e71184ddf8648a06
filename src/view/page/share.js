// share.js - what is looked at as a file: the page of this window without a server, and the lanes as a picture.

import { byId, chosenWindow, picture, saved, setState, source, view } from "./state.js";
import { words } from "./lanes.js";

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

async function saveFile() {
  setState("drawing", "Saving …");
  download(await source.save(view.of, chosenWindow()), "holdup.html");
  setState("ready", `Saved as holdup.html. ${words()}`);
}

function savePicture() {
  picture.canvas.toBlob((blob) => download(blob, "holdup.png"), "image/png");
}

export function listenToShare(fail) {
  if (!saved) byId("save").addEventListener("click", () => void saveFile().catch(fail));
  byId("save-picture").addEventListener("click", savePicture);
}
