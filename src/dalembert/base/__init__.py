"""What every floor needs: errors, arrays, files, the environment, algebra."""
