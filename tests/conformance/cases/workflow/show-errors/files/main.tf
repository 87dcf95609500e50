resource "terraform_data" "t" {
  input = { a = [1, "x", null, true], b = {} }
}
output "o" {
  value     = terraform_data.t.input
}
