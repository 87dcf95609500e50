
variable "s" { default = 1 }
variable "n" {
  type    = set(string)
  default = ["a", "b"]
}
resource "lab_thing" "t" {
  for_each = var.n
  name     = "t${each.key}"
  size     = var.s
}
output "n" { value = keys(lab_thing.t) }
