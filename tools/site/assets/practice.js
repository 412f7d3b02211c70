// The sliders of the practice page: each combination of choices has a picture, which was drawn when the page was made.
for (const section of document.querySelectorAll("[data-practice]")) {
  const { shown, views } = PRACTICE[section.dataset.practice];
  const inputs = [...section.querySelectorAll("input, select")];
  const view = section.querySelector(".view");
  const options = inputs.map(input => input.options?.length ?? Number(input.max) + 1);
  const move = () => {
    view.innerHTML = views[shown[inputs.reduce((place, input, i) => place * options[i] + Number(input.value), 0)]];
    for (const input of inputs.filter(one => one.dataset.texts)) {
      const text = JSON.parse(input.dataset.texts)[input.value];
      input.nextElementSibling.value = text;
      input.setAttribute("aria-valuetext", text);
    }
  };
  for (const input of inputs) input.addEventListener("input", move);
  move();
  section.querySelector(".controls").hidden = false;
}
