resource "terraform_data" "a" {
  count = 3
  input = count.index
}

resource "terraform_data" "b" {
  for_each = toset(["x", "y"])
  input    = each.key
}

output "count" {
  value = length(terraform_data.a)
}

output "first" {
  value = "v${terraform_data.a[0].input}"
}

output "each" {
  value = [for key, found in terraform_data.b : "${key} ${found.input}"]
}
