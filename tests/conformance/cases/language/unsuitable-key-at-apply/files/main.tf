resource "terraform_data" "z" { input = "q" }
output "o" { value = { for v in [1, 2] : terraform_data.y.output => v } }
resource "terraform_data" "y" { input = ["x"] }
