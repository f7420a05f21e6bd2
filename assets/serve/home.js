// Signs out: ends the session at the server, with its CSRF token, and shows the home page again.
"use strict";

const button = document.getElementById("logout");
const problem = document.getElementById("problem");

async function logOut() {
  const session = await fetch("/api/v1/session", { headers: { Accept: "application/json" } });
  if (session.status === 401) return;
  if (!session.ok) throw new Error(`the server answered ${session.status}`);
  const { session: caller } = await session.json();
  const ended = await fetch("/api/v1/session/logout", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": caller.csrf_token },
    body: "{}",
  });
  if (!ended.ok && ended.status !== 401) throw new Error(`the server answered ${ended.status}`);
}

if (button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await logOut();
      location.replace("/");
    } catch (error) {
      problem.textContent = `Not signed out: ${error.message}`;
      button.disabled = false;
    }
  });
}
