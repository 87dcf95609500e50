output "x" { value = tonumber("x") }
resource "terraform_data" "n" { input = tonumber("n") }
