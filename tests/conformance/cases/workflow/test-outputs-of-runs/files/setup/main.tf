output "s" { value = "made" }
