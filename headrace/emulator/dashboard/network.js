// Nodes and links in a 3D scene: spheres that glide to where they are told, bars between them, a line to the ground.
import { CSS2DObject, THREE } from "nicegui-scene";

const BAR = new THREE.CylinderGeometry(1, 1, 1, 8);
const BALL = new THREE.SphereGeometry(0.16, 20, 14);
const UP = new THREE.Vector3(0, 1, 0);

export default class Network {
  create_mesh(names, colour, label, size) {
    this.group = new THREE.Group();
    const grid = new THREE.GridHelper(size, 10, label, label);
    grid.material.transparent = true;
    grid.material.opacity = 0.25;
    grid.rotateX(Math.PI / 2);
    this.group.add(grid);
    this.nodes = names.map((name, index) => {
      const ball = new THREE.Mesh(BALL, new THREE.MeshPhongMaterial({ color: colour }));
      ball.object_id = `node:${index}`;
      const text = document.createElement("div");
      text.textContent = name;
      text.style.cssText = `font:11px sans-serif;color:${label};margin-top:-16px`;
      ball.add(new CSS2DObject(text));
      this.group.add(ball);
      return { ball, from: new THREE.Vector3(), to: null };
    });
    this.stems = new THREE.LineSegments(
      new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(names.length * 6), 3)),
      new THREE.LineBasicMaterial({ color: label, transparent: true, opacity: 0.35 }),
    );
    this.stems.frustumCulled = false;
    this.stems.onBeforeRender = () => this.glide();
    this.group.add(this.stems);
    this.bars = new Map();
    return this.group;
  }

  // places: [x, y, z] of each node; links: [key, a, b, colour, thickness, opacity]; colours of the nodes.
  update(places, links, colours, glide_ms) {
    this.began = performance.now();
    this.glide_ms = glide_ms;
    this.nodes.forEach((node, index) => {
      const place = new THREE.Vector3(...places[index]);
      node.from.copy(node.to === null ? place : node.ball.position);
      node.to = place;
      node.ball.material.color.set(colours[index]);
    });
    const kept = new Set(links.map((link) => link[0]));
    for (const [key, bar] of this.bars)
      if (!kept.has(key)) {
        this.group.remove(bar.mesh);
        bar.mesh.material.dispose();
        this.bars.delete(key);
      }
    for (const [key, a, b, colour, thickness, opacity] of links) {
      if (!this.bars.has(key)) {
        const mesh = new THREE.Mesh(BAR, new THREE.MeshPhongMaterial({ transparent: true }));
        mesh.object_id = `link:${key}`;
        this.group.add(mesh);
        this.bars.set(key, { mesh });
      }
      const bar = this.bars.get(key);
      Object.assign(bar, { a, b, thickness });
      bar.mesh.material.color.set(colour);
      bar.mesh.material.opacity = opacity;
    }
    this.glide();
  }

  glide() {
    const part = this.glide_ms ? Math.min(1, (performance.now() - this.began) / this.glide_ms) : 1;
    const stems = this.stems.geometry.attributes.position;
    this.nodes.forEach((node, index) => {
      if (node.to === null) return;
      const place = node.ball.position.lerpVectors(node.from, node.to, part);
      stems.setXYZ(2 * index, place.x, place.y, place.z);
      stems.setXYZ(2 * index + 1, place.x, place.y, 0);
    });
    stems.needsUpdate = true;
    for (const { mesh, a, b, thickness } of this.bars.values()) {
      const [here, there] = [this.nodes[a].ball.position, this.nodes[b].ball.position];
      const along = there.clone().sub(here);
      mesh.position.copy(here).addScaledVector(along, 0.5);
      mesh.scale.set(thickness, Math.max(1e-6, along.length()), thickness);
      mesh.quaternion.setFromUnitVectors(UP, along.normalize());
    }
  }
}
