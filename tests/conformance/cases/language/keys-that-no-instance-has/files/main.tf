variable "input" {
  type = map(string)
  default = {
    a = "1"
  }
}
resource "terraform_data" "b" {
  for_each = var.input
}
resource "terraform_data" "c" {
  count = 1
}
output "o0" {
  value = terraform_data.b[1.5].id
}
output "o1" {
  value = terraform_data.b[null].id
}
output "o2" {
  value = terraform_data.b[true]
}
output "o3" {
  value = terraform_data.c[99999999999999999999].id
}
output "o4" {
  value = module.m[0.5]
}
output "o5" {
  value = module.m[null].x
}
output "o6" {
  value = terraform_data.c[1.0].id
}
output "o7" {
  value = terraform_data.c[1e0].id
}
output "o8" {
  value = try(terraform_data.c[0.5].id, 1)
}
output "o9" {
  value = [for c in terraform_data.c : c.id]
}
