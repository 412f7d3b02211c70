// Puts what does not fit on a slide on further ones below it, then starts reveal.js. Only here are the heights known: they
// depend on the fonts of the machine. The room of a slide is 1024 × 768, which reveal.js scales to the window.
(async () => {
  const ROOM = 768 - 2 * 26 - 20;
  await Promise.all([...document.images].map(image => image.decode().catch(() => {})));
  const stage = document.querySelector('.reveal .slides');
  document.body.classList.add('measuring');
  const heading = element => /^H[1-4]$/.test(element.tagName);

  // The height of what stands in a section, without its padding.
  const height = section => {
    const shown = [...section.children].filter(child => !child.matches('aside.notes'));
    if (!shown.length) return 0;
    return shown.at(-1).getBoundingClientRect().bottom - shown[0].getBoundingClientRect().top;
  };

  // The parts into which a block may be divided, and the element that holds them.
  const divided = block => {
    if (block.matches('ul, ol')) return [block, [...block.children]];
    const rows = block.matches('table, .course-scroll') && block.querySelector('tbody');
    if (rows) return [rows, [...rows.children].filter(row => row.querySelector('td'))];
    if (block.matches('pre')) return [block.querySelector('code') ?? block, null];
    if (block.matches('.course-card, blockquote, details[open], .course-question, div')) return [block, [...block.children]];
    return [block, []];
  };

  // Take the last lines of a listing away, and return another one with them.
  const cut_listing = (block, section) => {
    const inside = block.querySelector('code') ?? block;
    const lines = inside.innerHTML.split('\n');
    let kept = lines.length;
    while (kept > 1 && height(section) > ROOM) inside.innerHTML = lines.slice(0, --kept).join('\n');
    if (kept === lines.length || height(section) > ROOM) { inside.innerHTML = lines.join('\n'); return null; }
    // Better between two parts than inside one.
    const empty = lines.findLastIndex((line, at) => at < kept && !line.replace(/<[^>]*>/g, '').trim());
    if (empty > kept / 2) inside.innerHTML = lines.slice(0, kept = empty + 1).join('\n');
    const rest = block.cloneNode(true);
    (rest.querySelector('code') ?? rest).innerHTML = lines.slice(kept).join('\n');
    return rest;
  };

  // Divide the last block of a section that is too high; return the rest as a new block, or null.
  const cut = (block, section) => {
    const [holder, parts] = divided(block);
    if (parts === null) return cut_listing(block, section);
    if (!parts.length) return null;
    const moved = [];
    while (parts.length > 1 && height(section) > ROOM) {
      moved.unshift(parts.pop());
      moved[0].remove();
    }
    const inner = height(section) > ROOM ? cut(parts[0], section) : null;
    if (inner) moved.unshift(inner);
    if (height(section) > ROOM) { holder.append(...moved); return null; }
    const rest = block.cloneNode(true);
    const inside = holder === block ? rest : rest.querySelector(holder.tagName.toLowerCase());
    const titles = [...inside.children].filter(row => row.querySelector('th') && !row.querySelector('td'));
    for (const head of [...titles, ...rest.querySelectorAll('thead')]) head.dataset.repeated = 'yes';
    inside.replaceChildren(...titles, ...moved);
    if (block.matches('ol')) rest.start = (block.start || 1) + parts.length;
    return rest;
  };

  const paginate = section => {
    const blocks = [...section.children].filter(child => !child.matches('aside.notes'));
    const notes = section.querySelector(':scope > aside.notes');
    section.replaceChildren();
    // Whoever looks up reads which section this is.
    const name = page => {
      if (!section.dataset.of || blocks[0]?.matches('h2') && page === section) return;
      const of = document.createElement('p');
      of.className = 'of';
      of.dataset.repeated = 'yes';
      of.textContent = section.dataset.of;
      page.append(of);
    };
    name(section);
    let page = section;
    const pages = [section];
    const turn = () => {
      const next = document.createElement('section');
      page.after(next);
      name(next);
      // A heading goes with what it announces.
      const carried = [];
      while (page.lastElementChild && heading(page.lastElementChild)) carried.unshift(page.removeChild(page.lastElementChild));
      if (!page.querySelector(':scope > :not(.of)')) { page.append(...carried); } else { next.append(...carried); }
      page = next;
      pages.push(page);
    };
    while (blocks.length) {
      const block = blocks.shift();
      page.append(block);
      if (height(page) <= ROOM) continue;
      // A picture makes room for the sentence and the verdict beside it, as long as it can be read.
      const picture = page.querySelector('img'), space = picture ? picture.offsetHeight - (height(page) - ROOM) : 0;
      if (space >= 330) { picture.style.maxHeight = `${Math.floor(space) - 2}px`; continue; }
      const alone = [...page.children].filter(child => !heading(child) && !child.matches('.of')).length === 1;
      const rest = alone || block.offsetHeight > ROOM / 2 ? cut(block, page) : null;
      if (rest) { blocks.unshift(rest); turn(); continue; }
      if (!alone) { blocks.unshift(page.removeChild(block)); turn(); continue; }
      block.style.zoom = Math.max(0.5, ROOM / height(page) * 0.98);  // one picture with its text
      block.dataset.shrunk = block.style.zoom;
    }
    for (const filled of pages.filter(page => notes && page.children.length)) filled.append(notes.cloneNode(true));
  };

  for (const section of stage.querySelectorAll(':scope > section > section')) paginate(section);
  for (const empty of stage.querySelectorAll('section:empty')) empty.remove();
  document.body.classList.remove('measuring');
  await Reveal.initialize({
    width: 1024, height: 768, margin: 0, center: false, hash: true, transition: 'none', slideNumber: 'c/t',
    controlsTutorial: false, plugins: [RevealNotes],
  });
  document.documentElement.dataset.ready = 'yes';
})();
