data "lab_thing" "d" {
  name = each.key
}
data "lab_things" "e" {
  color = [count.index, var.nope]
}
data "lab_things" "f" {
  color = [self.x, each.key]
}
