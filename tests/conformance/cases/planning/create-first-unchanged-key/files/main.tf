
variable "v" { default = 1 }
resource "lab_thing" "src" {
  for_each = toset(["one", "two"])
  name     = "src-${each.key}"
  size     = each.key == "one" ? var.v : 1
}
resource "lab_thing" "c" {
  name   = "c"
  labels = { a = lab_thing.src["one"].id }
  lifecycle {
    create_before_destroy = true

  }
}
