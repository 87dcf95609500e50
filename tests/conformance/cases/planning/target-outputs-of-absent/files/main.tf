resource "terraform_data" "a" {
  count = 2
  input = count.index
}

resource "terraform_data" "b" {
  for_each = toset(["x", "y"])
  input    = terraform_data.a[0].input
}

resource "terraform_data" "c" {
  input = "c"
}

output "id" {
  value = terraform_data.a[0].id
}

output "input" {
  value = terraform_data.a[0].input
}

output "whole" {
  value = terraform_data.a[0]
}

output "text" {
  value = "x${terraform_data.a[0].input}"
}

output "list" {
  value = [terraform_data.a[0].id]
}

output "b_id" {
  value = terraform_data.b["x"].id
}

output "c_id" {
  value = terraform_data.c.id
}

output "c_try" {
  value = try("a", terraform_data.c.id)
}

output "fixed" {
  value = 1
}
