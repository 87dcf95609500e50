# One object of each type that the table of import ids has, and what they need.
locals {
  trusts = jsonencode({
    Version = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

resource "aws_cloudwatch_log_group" "x" {
  name = "/app/x"
}

resource "aws_dynamodb_table" "x" {
  name         = "x"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"
  attribute {
    name = "id"
    type = "S"
  }
}

resource "aws_iam_group" "x" {
  name = "x"
}

resource "aws_iam_role" "x" {
  name               = "x"
  assume_role_policy = local.trusts
}

resource "aws_iam_instance_profile" "x" {
  name = "x"
  role = aws_iam_role.x.name
}

resource "aws_iam_role_policy" "x" {
  name = "x"
  role = aws_iam_role.x.name
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "logs:PutLogEvents", Resource = "*" }]
  })
}

resource "aws_iam_policy" "needed" {
  name = "x"
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "s3:GetObject", Resource = "*" }]
  })
}

resource "aws_iam_role_policy_attachment" "x" {
  role       = aws_iam_role.x.name
  policy_arn = aws_iam_policy.needed.arn
}

resource "aws_iam_user" "x" {
  name = "x"
}

resource "aws_kms_key" "needed" {
  deletion_window_in_days = 7
}

resource "aws_kms_alias" "x" {
  name          = "alias/x"
  target_key_id = aws_kms_key.needed.key_id
}

resource "aws_lambda_function" "x" {
  function_name = "x"
  role          = aws_iam_role.x.arn
  filename      = "code.zip"
  handler       = "main.main"
  runtime       = "python3.12"
}

resource "aws_lambda_alias" "x" {
  name             = "x"
  function_name    = aws_lambda_function.x.function_name
  function_version = "$LATEST"
}

resource "aws_s3_bucket" "x" {
  bucket = "bucket-x"
}

resource "aws_s3_bucket_policy" "x" {
  bucket = aws_s3_bucket.x.bucket
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Deny", Action = "s3:*", Principal = "*", Resource = "arn:aws:s3:::bucket-x/*" }]
  })
}

resource "aws_s3_bucket_public_access_block" "x" {
  bucket            = aws_s3_bucket.x.bucket
  block_public_acls = true
}

resource "aws_ssm_parameter" "x" {
  name  = "/app/x"
  type  = "String"
  value = "y"
}
