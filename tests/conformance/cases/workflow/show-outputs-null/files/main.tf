resource "terraform_data" "a" {
  input = { name = "x", none = null }
}
output "o" {
  value = { name = "x", none = null, l = [null, { z = null }], m = tomap({ q = tostring(null) }) }
}
output "n" {
  value = [{ none = null }]
}
